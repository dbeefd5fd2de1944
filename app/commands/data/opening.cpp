#include "app/commands/data/opening.h"

#include <filesystem>
#include <stdexcept>

#include "app/commands/data/agreement.h"
#include "app/launch/pipes.h"
#include "base/log.h"
#include "base/text.h"
#include "data/stream/whole_files.h"

namespace shoal::app {
namespace fs = std::filesystem;

namespace {

// Checks that class names are UTF-8, because JSON and the terminal accept nothing else.
void check_names(const data::Source& images, const std::string& source) {
  for (const std::string& name : images.classes()) {
    if (is_utf8(name)) continue;
    throw UserError(source + ": the name of the class folder '" + name +
                    "' is not UTF-8; rename it");
  }
}

// Returns the folder through which the processes of this host pass images to each other.
// Collective.
data::StreamRelay relay_of(const dist::Communicator& communicator) {
  const std::string name = "shoal-pipes-" + hex(host_token(communicator));
  const dist::Env& env = communicator.env;
  return {fs::temp_directory_path() / name, env.local_rank, env.local_world_size};
}

data::OpenOptions open_options(const Opening& opening, const Classes& known) {
  const train::Job& job = opening.job;
  data::OpenOptions options;
  options.cache_dir = cache_folder(job);
  options.progress = [name = opening.split.name](int64_t files) {
    log::status(strf("listing the %s images: %lld", name.c_str(), static_cast<long long>(files)));
  };
  // Of all processes with the same images, only one warns.
  const dist::Env& env = opening.communicator.env;
  if (!opening.quiet && (opening.sharded() ? env.local_rank : env.rank) == 0)
    options.warning = log::warning;
  options.classes = known;
  options.reads = job.forward_reads ? data::Reads::forward : data::Reads::seeking;
  if (opening.split.name == "val") {
    options.in_order = job.forward_reads;
    options.labels = job.val_labels;
    options.synsets = job.val_synsets;
  }
  return options;
}

// Calls `open`. Turns std::invalid_argument into UserError that names the option.
template <class Open>
auto opened(const Opening& opening, const Open& open) {
  decltype(open()) images;
  try {
    images = open();
  } catch (const std::invalid_argument& error) {
    throw UserError(opening.split.option + ": " + error.what());
  }
  log::status("");
  check_names(*images, opening.source());
  return images;
}

}  // namespace

std::shared_ptr<const data::Stream> open_pipe(const Opening& opening, const Classes& known) {
  const train::Job& job = opening.job;
  const PipeShare share = pipe_share(
      opening.source(), {opening.option(), opening.split.name == "train", opening.sharded()},
      opening.communicator.env);
  data::OpenOptions options = open_options(opening, known);
  options.tfrecord_keys = job.tfrecord_keys;
  options.stream_index = share.index;
  options.stream_count = share.count;
  options.shuffle_buffer = job.shuffle_buffer;
  options.pipe_patience.stall_seconds = job.collective_timeout;
  if (share.relayed) options.relay = relay_of(opening.communicator);
  return opened(opening, [&] { return data::open_stream(share.source, options); });
}

std::shared_ptr<const data::Dataset> open_listed(const Opening& opening, const Classes& known) {
  data::OpenOptions options = open_options(opening, known);
  auto dataset = opened(opening, [&] {
    const auto& location = opening.split.location;
    if (!opening.job.tfrecord_keys.empty() && data::holds_tf_records(location))
      options.tfrecord_keys = opening.job.tfrecord_keys;
    return data::open_dataset(location, options);
  });
  if (opening.sharded()) return with_all_classes(dataset, opening.communicator);
  check_same_listing(*dataset, opening.option(), opening.source(), opening.communicator);
  return dataset;
}

std::shared_ptr<const data::Source> as_read(const Opening& opening,
                                            const std::shared_ptr<const data::Dataset>& dataset) {
  if (!opening.job.forward_reads) return dataset;
  const dist::Env& env = opening.communicator.env;
  data::WholeFilesShare share{env.rank, env.world_size, opening.job.shuffle_buffer};
  if (opening.sharded()) {
    share.index = env.local_rank;
    share.count = env.local_world_size;
  }
  if (auto stream = data::read_whole_files(dataset, share)) return stream;
  return dataset;
}

}  // namespace shoal::app
