#include "app/commands/inputs/opening.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "app/commands/inputs/agreement.h"
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

// Returns the relay through which the first process of this host passes images to the others. Its
// folder is new in each run. Collective.
data::StreamRelay relay_of(const dist::Communicator& communicator) {
  const std::string name = "shoal-pipes-" + hex(host_token(communicator));
  const dist::Env& env = communicator.env;
  return {fs::temp_directory_path() / name, env.local_rank, env.local_world_size};
}

data::OpenOptions open_options(const OpenRequest& request, const Classes& known) {
  const train::Job& job = request.job;
  data::OpenOptions options;
  options.cache_dir = train::cache_folder(job);
  options.progress = [name = request.split.name](int64_t files) {
    log::status(strf("listing the %s images: %ld", name.c_str(), files));
  };
  // Among processes that list the same images, only one logs warnings.
  const dist::Env& env = request.communicator.env;
  if (!request.quiet && (request.sharded() ? env.local_rank : env.rank) == 0)
    options.warning = log::warning;
  options.classes = known;
  options.others_elsewhere = request.sharded() && env.world_size > env.local_world_size;
  options.val_unused = job.val_split > 0;
  options.reads = job.forward_reads ? data::Reads::forward : data::Reads::seeking;
  if (request.split.name == "val") {
    options.in_order = job.forward_reads;
    options.labels = job.val_labels;
    options.synsets = job.val_synsets;
  }
  return options;
}

// Calls `open` and checks the class names of the images that it returns. Turns
// std::invalid_argument from `open` into UserError that names the option.
template <class Open>
auto opened(const OpenRequest& request, const Open& open) {
  decltype(open()) images;
  try {
    images = open();
  } catch (const std::invalid_argument& error) {
    throw UserError(request.split.option + ": " + error.what());
  }
  log::status("");
  check_names(*images, request.source());
  return images;
}

}  // namespace

std::shared_ptr<const data::Stream> open_pipe(const OpenRequest& request, const Classes& known) {
  const train::Job& job = request.job;
  const PipeShare share = pipe_share(
      request.source(), {request.split.option, request.split.name == "train", request.sharded()},
      request.communicator.env);
  data::OpenOptions options = open_options(request, known);
  options.tfrecord_keys = job.tfrecord_keys;
  options.stream_index = share.index;
  options.stream_count = share.count;
  options.shuffle_buffer = job.shuffle_buffer;
  data::PipePatience& patience = options.pipe_patience;
  patience.stall_seconds = job.collective_timeout;
  patience.appear_seconds = std::min(patience.appear_seconds, job.collective_timeout);
  if (share.relayed) options.relay = relay_of(request.communicator);
  return opened(request, [&] { return data::open_stream(share.source, options); });
}

std::shared_ptr<const data::Dataset> open_listed(const OpenRequest& request, const Classes& known) {
  data::OpenOptions options = open_options(request, known);
  auto dataset = opened(request, [&] {
    const auto& location = request.split.location;
    if (!request.job.tfrecord_keys.empty() && data::holds_tf_records(location))
      options.tfrecord_keys = request.job.tfrecord_keys;
    return data::open_dataset(location, options);
  });
  check_not_splits(request.split, dataset->classes());
  if (const std::string text = data::case_warning(dataset->classes());
      options.warning && !text.empty())
    options.warning(request.split.option + " " + request.source() + ": " + text);
  if (request.sharded()) return with_all_classes(dataset, request.communicator);
  check_same_listing(*dataset, request.split.option, request.source(), request.communicator);
  return dataset;
}

std::shared_ptr<const data::Source> as_read(const OpenRequest& request,
                                            const std::shared_ptr<const data::Dataset>& dataset) {
  if (!request.job.forward_reads) return dataset;
  const dist::Env& env = request.communicator.env;
  data::WholeFilesShare share{env.rank, env.world_size, request.job.shuffle_buffer};
  if (request.sharded()) {
    share.index = env.local_rank;
    share.count = env.local_world_size;
  }
  if (auto stream = data::read_whole_files(dataset, share)) return stream;
  return dataset;
}

}  // namespace shoal::app
