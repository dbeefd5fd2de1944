// shoal prepare imagenet: converts the three downloaded archives into a dataset for training.
#include <filesystem>

#include "app/commands/commands.h"
#include "app/commands/inputs/shared_images.h"
#include "app/commands/printable_row.h"
#include "app/commands/session.h"
#include "app/launch/machine.h"
#include "app/platform/signals.h"
#include "base/file/writable.h"
#include "base/format/counted.h"
#include "base/json.h"
#include "base/log.h"
#include "data/pack/arrange.h"
#include "data/pack/writer.h"

namespace shoal::app {
namespace fs = std::filesystem;

namespace {

// Returns `named` (the value of `option`). If that is empty, returns the path of `file` in the
// download folder, and throws UserError if there is no such file.
std::string archive(const std::string& named, const fs::path& folder, const char* file,
                    const char* option) {
  if (!named.empty()) return named;
  if (fs::exists(folder / file)) return (folder / file).string();
  throw UserError(std::string("there is no ") + file + " in " + folder.string() +
                  "; put it there, or use " + option);
}

void check_packing_options(const Arguments& arguments) {
  if (arguments.prepare_as == PrepareAs::packs) return;
  for (const char* option : {"max-side", "quality", "raw-share", "index", "shard-size"}) {
    if (arguments.origins.contains(option))
      throw UserError(std::string("--") + option + " has no effect without --as packs");
  }
}

struct Half {
  const char* name;  // train or val
  data::ArrangeSummary summary;
  std::string path;
};

Half write(const Arguments& arguments, const data::Dataset& dataset, const char* name) {
  const int threads = arguments.job.workers.value_or(usable_processors());
  const std::string total = std::to_string(dataset.size());
  const auto progress = [&](int64_t done) {
    log::status(strf("%s: %ld of %s images", name, done, total.c_str()));
  };
  Half half{name, {}, (fs::path(arguments.paths[2]) / name).string()};
  if (arguments.prepare_as == PrepareAs::packs) {
    half.path = data::pack_path(half.path, arguments.pack);
    data::PackOptions options = arguments.pack;
    options.threads = threads;
    data::require_same_pack(dataset, half.path, options);
    const auto s = data::write_pack(dataset, half.path, options, progress, log::warning);
    half.summary = {s.images, s.resumed, s.damaged};
  } else {
    half.summary =
        data::arrange(dataset, half.path,
                      arguments.prepare_as == PrepareAs::tars ? data::Arrangement::tars
                                                              : data::Arrangement::folders,
                      threads, progress, log::warning);
  }
  log::status("");
  return half;
}

void print(const std::vector<Half>& halves, const NamePairs& shared, const Arguments& arguments) {
  nlohmann::ordered_json json;
  for (const auto& [name, s, path] : halves) {
    if (arguments.json) {
      json[name] = {{"path", path}, {"images", s.images}, {"kept", s.kept}, {"damaged", s.damaged}};
      continue;
    }
    std::string line = path + ": " + counted(s.images, "image");
    if (s.damaged > 0) line += strf(", %ld damaged skipped", s.damaged);
    if (s.kept > 0) line += strf("; %ld of them kept from an interrupted run", s.kept);
    log::line(printable_row(line));
  }
  json["shared"] = shared;
  log::line(arguments.json
                ? json_text(json)
                : "to train on them: shoal train --data " + printable(arguments.paths[2]));
}

}  // namespace

int prepare_command(const Arguments& arguments) {
  begin(arguments.job, dist::Env{});
  install_resumable_signals();
  if (arguments.paths.size() != 3 || arguments.paths[0] != "imagenet")
    throw UserError(
        "usage: `shoal prepare imagenet DOWNLOADS DEST`; DOWNLOADS must contain "
        "ILSVRC2012_img_train.tar, ILSVRC2012_img_val.tar and ILSVRC2012_devkit_t12.tar.gz");
  check_packing_options(arguments);
  if (!fs::is_directory(arguments.paths[1]))
    throw UserError("DOWNLOADS: there is no folder " + arguments.paths[1]);
  require_writable_folder("DEST", arguments.paths[2]);
  const train::Job& job = arguments.job;
  const fs::path folder = arguments.paths[1];
  const std::string train =
      archive(job.train_dir, folder, "ILSVRC2012_img_train.tar", "--train FILE");
  const std::string val = archive(job.val_dir, folder, "ILSVRC2012_img_val.tar", "--val FILE");
  data::OpenOptions opening;
  opening.warning = log::warning;
  opening.in_order = true;
  const auto images = data::open_dataset(train, opening);
  opening.classes = images->classes();
  opening.labels =
      archive(job.val_labels, folder, "ILSVRC2012_devkit_t12.tar.gz", "--val-labels FILE");
  opening.synsets = job.val_synsets;
  const auto validation = data::open_dataset(val, opening);
  data::check_same_classes(*images, *validation);
  using enum data::Fingerprints::Of;
  const data::Fingerprints train_prints(images, first_rows), val_prints(validation, first_rows);
  const std::vector<Half> halves = {write(arguments, train_prints, "train"),
                                    write(arguments, val_prints, "val")};
  const int threads = job.workers.value_or(usable_processors());
  print(halves, report_shared(train_prints, val_prints, "train and val", threads), arguments);
  return 0;
}

}  // namespace shoal::app
