// shoal pack: writes, verifies (--verify) and describes (--info) packed sets.
#include <algorithm>
#include <filesystem>

#include "app/commands/commands.h"
#include "app/commands/inputs/data_places.h"
#include "app/commands/inputs/shared_images.h"
#include "app/commands/printable_row.h"
#include "app/commands/run_folders.h"
#include "app/commands/session.h"
#include "app/launch/machine.h"
#include "app/platform/signals.h"
#include "base/file/folder.h"
#include "base/file/writable.h"
#include "base/format/counted.h"
#include "base/format/grouped.h"
#include "base/json.h"
#include "base/log.h"
#include "data/pack/reader.h"
#include "data/pack/shards.h"
#include "data/pack/writer.h"
#include "data/sources/images.h"
#include "data/sources/location.h"

namespace shoal::app {
namespace {

// The open files of a packed set.
using Packs = std::vector<std::unique_ptr<data::PackedDataset>>;

Packs open_packs(const std::string& path) {
  if (!std::filesystem::exists(path)) throw UserError(path + " does not exist");
  Packs packs;
  for (const std::string& file : data::packed_files(path))
    packs.push_back(std::make_unique<data::PackedDataset>(file));
  return packs;
}

// Returns a histogram of image sizes. Each row: an upper limit in bytes (a power of two,
// exclusive), and the number of images below it but not below the previous limit.
std::vector<std::pair<uint64_t, int64_t>> size_histogram(const Packs& packs) {
  std::vector<std::pair<uint64_t, int64_t>> rows;
  for (uint64_t limit = 1024; rows.empty() || limit <= uint64_t{1} << 32; limit *= 2)
    rows.emplace_back(limit, 0);
  for (const auto& pack : packs)
    for (int64_t i = 0; i < pack->size(); ++i) {
      const auto row = std::find_if(rows.begin(), rows.end(),
                                    [&](const auto& r) { return pack->entry(i).bytes < r.first; });
      if (row != rows.end()) ++row->second;
    }
  while (!rows.empty() && rows.back().second == 0) rows.pop_back();
  const auto first = std::find_if(rows.begin(), rows.end(), [](const auto& r) { return r.second; });
  return {first, rows.end()};
}

int describe(const Arguments& arguments) {
  const Packs packs = open_packs(arguments.paths[0]);
  int64_t kinds[3] = {}, count = 0;
  uint64_t images = 0, indexes = 0, file_bytes = 0;
  for (const auto& pack : packs) {
    count += pack->size();
    file_bytes += pack->file_bytes();
    for (int64_t i = 0; i < pack->size(); ++i) {
      const data::PackEntry& e = pack->entry(i);
      ++kinds[static_cast<int>(e.kind)];
      images += e.bytes;
      indexes += e.index_bytes;
    }
  }
  const size_t classes = packs.front()->classes().size();
  const auto histogram = size_histogram(packs);
  if (arguments.json) {
    nlohmann::ordered_json json = {{"version", data::kPackVersion},
                                   {"files", packs.size()},
                                   {"images", count},
                                   {"classes", classes},
                                   {"original", kinds[0]},
                                   {"encoded", kinds[1]},
                                   {"pixels", kinds[2]},
                                   {"file_bytes", file_bytes},
                                   {"image_bytes", images},
                                   {"index_bytes", indexes}};
    for (const auto& [limit, count] : histogram)
      json["sizes"].push_back({{"below", limit}, {"images", count}});
    log::line(json.dump());
    return 0;
  }
  log::line(printable_row(strf("%s: packed set of version %u, %s in %s, %s",
                               arguments.paths[0].c_str(), data::kPackVersion,
                               counted(count, "image").c_str(), counted(classes, "class").c_str(),
                               counted(packs.size(), "file").c_str())));
  log::line(strf("unchanged %ld, re-encoded %ld, raw pixels %ld", kinds[0], kinds[1], kinds[2]));
  log::line(strf("%.1f MB: images %.1f MB (%.1f kB each), seek indexes %.1f MB (%.2f %%)",
                 megabytes(file_bytes), megabytes(images),
                 1e3 * megabytes(images) / static_cast<double>(count), megabytes(indexes),
                 100 * static_cast<double>(indexes) / static_cast<double>(images)));
  int64_t most = 1;
  for (const auto& [limit, count] : histogram) most = std::max(most, count);
  for (const auto& [limit, count] : histogram)
    log::line(strf("below %9.1f kB %8ld  %s", 1e3 * megabytes(limit), count,
                   std::string(static_cast<size_t>(50 * count / most), '#').c_str()));
  return 0;
}

int verify(const Arguments& arguments, int threads) {
  int64_t bad = 0, count = 0;
  for (const auto& pack : open_packs(arguments.paths[0])) {
    bad += data::verify_pack(*pack, threads, log::error);
    count += pack->size();
  }
  if (arguments.json) {
    log::line(nlohmann::ordered_json{{"images", count}, {"damaged", bad}}.dump());
  } else {
    log::line(strf("%ld of %ld images are intact", count - bad, count));
  }
  return bad == 0 ? 0 : 1;
}

// Throws UserError if the destination exists and is the source or inside it, because packing would
// overwrite images.
void require_apart(const std::string& source, const std::string& destination) {
  std::error_code none;
  if (std::filesystem::exists(destination, none) && is_inside(destination, source))
    throw UserError(destination + " is inside the source (" + source + "); choose another name");
}

int pack(const Arguments& arguments, int threads) {
  data::PackOptions options = arguments.pack;
  options.reading = arguments.job.tfrecord_keys;
  options.threads = threads;
  const std::string& source = arguments.paths[0];
  require_no_run(source);
  data::OpenOptions opening;
  opening.warning = log::warning;
  opening.labels = arguments.job.val_labels;
  opening.synsets = arguments.job.val_synsets;
  opening.tfrecord_keys = arguments.job.tfrecord_keys;
  opening.in_order = true;
  check_synsets(arguments.job);
  if (!opening.tfrecord_keys.empty() && !data::holds_tf_records(data::resolve(source)))
    throw UserError("--tfrecord-keys has no effect: " + source + " contains no TFRecords");
  require_apart(source, arguments.paths[1]);
  require_writable_folder("DEST", std::filesystem::absolute(arguments.paths[1]).parent_path());
  std::shared_ptr<const data::Dataset> dataset = data::open_dataset(source, opening);
  if (const std::string names = split_folders(dataset->classes()); !names.empty())
    throw UserError("the class folders of " + source + " are called " + names +
                    ", like the folders of splits; pack each split by itself");
  const auto progress = [&](int64_t done) {
    log::status(strf("packing: %ld of %ld images", done, dataset->size()));
  };
  std::shared_ptr<const data::Fingerprints> prints, others;
  if (!arguments.compare.empty()) {
    if (!data::resolve(arguments.compare).exists)
      throw UserError("--compare: " + arguments.compare + " does not exist");
    using enum data::Fingerprints::Of;
    data::OpenOptions comparing;
    comparing.warning = log::warning;
    if (data::holds_tf_records(data::resolve(arguments.compare)))
      comparing.tfrecord_keys = arguments.job.tfrecord_keys;
    others = std::make_shared<data::Fingerprints>(data::open_images({arguments.compare}, comparing),
                                                  first_rows);
    hash_images(*others, threads);
    if (others->without_hash() == others->size())
      throw UserError("--compare: no image in " + arguments.compare + " can be decoded");
    dataset = prints = std::make_shared<data::Fingerprints>(dataset, first_rows);
  }
  const data::PackSummary s =
      data::write_pack(*dataset, arguments.paths[1], options, progress, log::warning);
  log::status("");
  NamePairs shared;
  if (const std::string other = prints ? "" : other_split(source); !other.empty())
    log::info("add --compare " + other + " to list the images that both splits contain");
  if (prints)
    shared = report_shared(*prints, *others, source + " and " + arguments.compare, threads);
  if (arguments.json) {
    nlohmann::ordered_json json = {{"images", s.images},         {"original", s.original},
                                   {"encoded", s.encoded},       {"pixels", s.pixels},
                                   {"damaged", s.damaged},       {"resumed", s.resumed},
                                   {"file_bytes", s.file_bytes}, {"index_bytes", s.index_bytes}};
    if (prints) json["shared"] = shared;
    log::line(json_text(json));
    return 0;
  }
  std::string line =
      strf("%s: %s, %.1f MB, seek indexes %.1f MB", arguments.paths[1].c_str(),
           counted(s.images, "image").c_str(), megabytes(s.file_bytes), megabytes(s.index_bytes));
  if (s.encoded > 0) line += strf(", %ld re-encoded", s.encoded);
  if (s.pixels > 0) line += strf(", %ld as raw pixels", s.pixels);
  if (s.damaged > 0) line += strf(", %ld damaged skipped", s.damaged);
  if (s.resumed == s.images)
    line += "; they were packed already";
  else if (s.resumed > 0)
    line += "; resumed after " + counted(s.resumed, "image") + " of an interrupted run";
  log::line(printable_row(line));
  return 0;
}

}  // namespace

int pack_command(const Arguments& arguments) {
  begin(arguments.job, dist::Env{});
  install_resumable_signals();
  const int threads = arguments.job.workers.value_or(usable_processors());
  const bool reads = arguments.verify || arguments.info;
  const size_t paths = reads ? 1 : 2;
  if (arguments.paths.size() != paths)
    throw UserError(reads ? "usage: `shoal pack --info PATH` or `shoal pack --verify PATH`, where "
                            "PATH is a packed set"
                          : "usage: `shoal pack SOURCE DEST`; DEST is the file or folder to write");
  if (reads && !arguments.compare.empty())
    throw UserError("--compare has no effect with --info and --verify; omit it");
  const int code = arguments.verify ? verify(arguments, threads)
                   : arguments.info ? describe(arguments)
                                    : pack(arguments, threads);
  return code;
}

}  // namespace shoal::app
