#include "app/commands/data_places.h"

#include <filesystem>

#include "base/hash.h"
#include "base/log.h"
#include "data/folder/patterns.h"
#include "data/sources/open.h"
#include "data/stream/pipes.h"

namespace shoal::app {
namespace fs = std::filesystem;

std::string source_of(const train::Job& job, const std::string& own, const std::string& half) {
  if (!own.empty()) return own;
  const std::string folder = job.data + "/" + half;
  for (const std::string& name : {folder, folder + ".pack", folder + ".tar",
                                  job.data + "/ILSVRC2012_img_" + half + ".tar", folder + ".rec"}) {
    if (fs::exists(name)) return name;
  }
  std::vector<std::string> patterns = {folder + "-*"};
  if (half == "val") patterns.push_back(job.data + "/validation-*");
  for (const std::string& pattern : patterns) {
    if (data::matches_files(pattern)) return pattern;
  }
  return folder;
}

std::string cache_folder(const train::Job& job) {
  return job.cache_dir.value_or(job.output + "/cache");
}

std::string index_folder(const train::Job& job) {
  if (!job.seek_index) return "";
  const fs::path images = fs::absolute(source_of(job, job.train_dir, "train")).lexically_normal();
  std::string name = images.native();  // an index belongs to a place in the training images
  if (job.val_split > 0) name += strf(":%g", job.val_split);
  const uint64_t hash = hash_bytes(name);
  return cache_folder(job) + strf("/seek-%016llx", static_cast<unsigned long long>(hash));
}

std::string validation_source(const train::Job& job) {
  if (!job.val_dir.empty()) return job.val_dir;
  const std::string source = job.data.empty() ? "" : source_of(job, "", "val");
  return fs::exists(source) || data::matches_files(source) ? source : "";
}

bool is_sharded(const train::Job& job, const std::string& half) {
  if (job.val_split > 0) return job.sharded == "train" || job.sharded == "both";
  return job.sharded == half || job.sharded == "both";
}

void take_held_out(train::Job& job, double share, bool leader) {
  if (leader && job.val_split > share && share > 0)
    log::warning(
        strf("--val-split is %g, but the run held out %g: it was trained on a part of these "
             "images",
             job.val_split, share));
  const bool has_source = !job.data.empty() || !job.train_dir.empty();
  if (job.val_split == 0 && has_source && validation_source(job).empty()) job.val_split = share;
}

void check_data_is_there(const train::Job& job) {
  const auto check = [&](const std::string& option, const std::string& place) {
    const bool kind = place.find(':') != place.npos;  // "pipe:…", "synthetic:…", "folder:…"
    // Opening a pattern names the first file that is missing.
    if (place.empty() || kind || data::is_pattern(place) || fs::exists(place)) return;
    throw UserError(option + ": '" + place + "' does not exist");
  };
  check("--data", job.data);
  check("--train", job.train_dir);
  check("--val", job.val_dir);
}

void check_data_folder(const train::Job& job, const std::string& name) {
  const std::string split =
      name == "val" ? ", or hold out training images with --val-split 0.1" : "";
  const std::string also = "--" + name + " DIR|FILE" + split;
  if (job.data.empty()) {
    const bool other = !(name == "train" ? job.val_dir : job.train_dir).empty();
    throw UserError(
        std::string("no ") + (name == "train" ? "training" : "validation") + " images given: " +
        (other ? "add " + also : "--data DIR (holding train/ and val/), or --train and --val"));
  }
  if (!fs::exists(job.data)) throw UserError("--data: '" + job.data + "' does not exist");
  const std::string source = source_of(job, "", name);
  if (fs::exists(source) || data::matches_files(source)) return;
  const fs::path parent = fs::absolute(job.data).lexically_normal() / "..";
  const bool is_half = fs::exists(parent / "train") && fs::exists(parent / "val");
  throw UserError(
      "--data: " + job.data + " holds no " + name + "/, " + name + ".pack, " + name + ".tar, " +
      name + ".rec or " + name + "-*" +
      (is_half ? "; name the folder above it: --data " + parent.lexically_normal().string()
       : job.val_split > 0 ? "; name them by themselves: --train DIR|FILE"
                           : "; name them by themselves: --train DIR|FILE --val DIR|FILE" + split));
}

void check_split(const train::Job& job) {
  const std::string option = strf("--val-split %g", job.val_split);
  if (!job.val_dir.empty())
    throw UserError(option + " and --val " + job.val_dir +
                    " both say what the validation images are; leave one of them out");
  if (const std::string source = validation_source(job); !source.empty())
    throw UserError(option + " is for data without validation images, but there is " + source +
                    "; leave it out, or name the training images alone: --train " +
                    source_of(job, job.train_dir, "train"));
  if (data::is_pipe_source(source_of(job, job.train_dir, "train")))
    throw UserError(option +
                    " cannot divide images that come through a pipe; name validation images "
                    "with --val PATH");
  if (!job.val_labels.empty()) throw UserError("--val-labels has no use with " + option);
}

void check_source_options(const train::Job& job, bool with_train) {
  if (!job.val_synsets.empty() && job.val_labels.empty())
    throw UserError("--val-synsets has no use without --val-labels");
  const std::string train = source_of(job, job.train_dir, "train");
  if (job.tfrecord_keys.empty() || data::is_pipe_source(source_of(job, job.val_dir, "val"))) return;
  const bool reads_train = with_train || job.val_split > 0;
  if (reads_train && data::is_pipe_source(train)) return;
  if (data::holds_tf_records(source_of(job, job.val_dir, "val"))) return;
  if (reads_train && data::holds_tf_records(train)) return;
  throw UserError("--tfrecord-keys has no use: the images are no TFRecords");
}

}  // namespace shoal::app
