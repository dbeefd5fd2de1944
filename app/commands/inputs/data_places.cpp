#include "app/commands/inputs/data_places.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "base/file/folder.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "data/lists/csv_list.h"
#include "data/sources/archives/split_folder.h"
#include "data/sources/open.h"

namespace shoal::app {
namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail_missing(const std::string& option, const std::string& path) {
  throw UserError(option + ": '" + path + "' does not exist");
}

Split find_split(const train::Job& job, const std::string& name, const std::string& named) {
  if (!named.empty()) return {name, "--" + name, data::resolve(named)};
  if (job.data.empty()) return {name, "--data", {}};
  if (auto found = data::find_split(job.data, name)) {
    // With --val-split, an archive's own validation images are not used.
    if (name == "val" && job.val_split > 0 && !found->split.empty()) found->exists = false;
    return {name, "--data", *found};
  }
  return {name, "--data", {data::Location::Kind::path, job.data + "/" + name, false}};
}

}  // namespace

DataPlaces find_data(const train::Job& job) {
  return {find_split(job, "train", job.train_dir), find_split(job, "val", job.val_dir),
          data::resolve(job.data)};
}

std::string index_folder(const train::Job& job, const DataPlaces& places) {
  if (!job.seek_index || places.train.location.text.empty() || train::cache_folder(job).empty())
    return "";
  std::string name = fs::absolute(places.train.location.text).lexically_normal().native();
  if (!places.train.location.split.empty()) name += ":" + places.train.location.split;
  // Indexes are stored by an image's position in the training set. These options change positions.
  if (job.val_split > 0) name += strf(":%g", job.val_split);
  if (!job.portion.all()) name += ":" + portion_text(job);
  return train::cache_folder(job) + "/seek-" + hex(hash_bytes(name));
}

std::string portion_text(const train::Job& job) {
  const data::Portion& portion = job.portion;
  return portion.per_class > 0 ? "--per-class " + std::to_string(portion.per_class)
                               : strf("--fraction %g", portion.fraction);
}

void take_held_out(train::Job& job, const DataPlaces& places, double share, bool leader) {
  if (leader && job.val_split > share && share > 0)
    log::warning(
        strf("--val-split is %g, but the run held out only %g: some of these images were used for "
             "training",
             job.val_split, share));
  const bool has_source = !job.data.empty() || !job.train_dir.empty();
  // found() is true even if an archive has no validation images, because it has not been read yet.
  // So the images that the run held out take precedence.
  const bool in_archive = !places.val.location.split.empty() && share > 0;
  const bool has_val = !job.val_dir.empty() || (places.val.found() && !in_archive);
  if (job.val_split == 0 && has_source && !has_val) job.val_split = share;
}

void check_data_exists(const train::Job& job, const DataPlaces& places) {
  if (!job.data.empty() && !places.folder.exists) fail_missing("--data", job.data);
  for (const Split* split : {&places.train, &places.val})
    if (split->option != "--data" && !split->location.exists)
      fail_missing(split->option, split->location.text);
}

namespace {

// If the location is a list with a column that names the split of each image, returns how to use
// that column. Otherwise returns "". `trains`: whether the command needs training images.
std::string split_column_advice(const data::Location& location, bool trains) {
  if (location.kind != data::Location::Kind::csv_list) return "";
  const std::string column = data::split_column(location.text);
  if (column.empty()) return "";
  return location.text + " has " + column +
         (trains ? "; write the training lines and the validation lines to two separate lists, and "
                   "use --train LIST --val LIST"
                 : "; write the validation lines to a separate list, and use --val LIST");
}

// Returns advice for a --data folder that has no training images where they are expected: its
// subfolders may be the classes, or it may have only validation images. Empty: no advice.
std::string other_layout(const std::string& data) {
  if (const auto val = data::find_split(data, "val"))
    return "; add --train DIR|FILE or, to train on some of the validation images, use --train " +
           val->text + " --val-split 0.1 instead";
  std::error_code error;  // ignored: if `data` is not a folder, there are no entries
  for (const auto& entry : entries_of(data, error))
    if (entry.is_directory(error))
      return "; if its subfolders are the classes, use --train " + data +
             " --val-split 0.1 instead";
  return "";
}

// If `data` is train/ or val/ in a folder that contains both, returns that folder, as a relative
// path if `data` is one. Otherwise returns "".
std::string folder_of_splits(const std::string& data) {
  fs::path given = data;
  if (!given.has_filename()) given = given.parent_path();  // removes a slash at the end
  fs::path full = fs::absolute(given).lexically_normal();
  if (!full.has_filename()) full = full.parent_path();
  if (full.filename() != "train" && full.filename() != "val") return "";
  const fs::path folder = full.parent_path();
  if (!fs::exists(folder / "train") || !fs::exists(folder / "val")) return "";
  if (given.filename() != full.filename())  // for example, `given` is "."
    return (given / "..").lexically_normal().string();
  return given.has_parent_path() ? given.parent_path().string() : ".";
}

}  // namespace

std::string other_split(const std::string& data) {
  const std::string folder = folder_of_splits(data);
  if (folder.empty()) return "";
  const bool is_train = fs::equivalent(data, fs::path(folder) / "train");
  return (fs::path(folder) / (is_train ? "val" : "train")).string();
}

void check_data_has_entries(const std::string& data, bool trains) {
  if (fs::is_regular_file(data)) {
    for (const std::string& text :
         {data::compression_error(data), split_column_advice(data::resolve(data), trains)})
      if (!text.empty()) throw UserError("--data: " + text);
    throw UserError("--data: " + data +
                    " is a file, but not a tar or zip with folders train/ and val/; to name files, "
                    "use " +
                    (trains ? "--train FILE --val FILE" : "--val " + data));
  }
  std::error_code error;  // if the folder cannot be listed, the caller throws UserError
  const auto entries = entries_of(data, error);
  if (!error && std::ranges::all_of(entries, [](const auto& entry) {
        return entry.path().filename().string().starts_with('.');
      }))
    throw UserError("--data: the folder " + data + " is empty; expected train/ and val/ in it");
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string(), expected = lower(name);
    if (!entry.is_directory(error)) continue;
    for (const char* split : {"train", "val"})
      if (name != expected && std::ranges::count(data::folder_names(split), expected) > 0)
        throw UserError("--data: rename the folder " + entry.path().string() + " to " + expected +
                        ", or use --train DIR --val DIR");
  }
}

void check_split_exists(const train::Job& job, const DataPlaces& places, const Split& split,
                        bool trains) {
  if (split.found() || split.option != "--data") return;
  const bool train = split.name == "train";
  const std::string column = train ? "" : split_column_advice(places.train.location, trains);
  const bool can_split = !train && !places.train.location.is_pipe();
  const std::string also = can_split ? ", or hold out training images with --val-split 0.1" : "";
  if (job.data.empty()) {
    const bool other = !(train ? job.val_dir : job.train_dir).empty();
    const std::string both = trains
                                 ? "--data DIR (containing train/ and val/), or --train and --val"
                                 : "--val DIR|FILE, or --data DIR (containing val/)";
    const std::string missing = other ? "--" + split.name + " DIR|FILE" + also : both;
    throw UserError(std::string("no ") + (train ? "training" : "validation") +
                    " images given: " + (column.empty() ? "add " + missing : column));
  }
  if (!fs::exists(job.data)) fail_missing("--data", job.data);
  check_data_has_entries(job.data, trains);
  const std::string parent = folder_of_splits(job.data);
  throw UserError("--data: " + job.data + " contains no " + data::split_places(split.name) +
                  (!parent.empty()   ? "; use its parent folder: --data " + parent
                   : !column.empty() ? "; " + column
                   : train && !other_layout(job.data).empty() ? other_layout(job.data)
                   : job.val_split > 0
                       ? "; give them separately: --train DIR|FILE"
                       : "; give them separately: --train DIR|FILE --val DIR|FILE" + also));
}

void check_val_split(const train::Job& job, const DataPlaces& places) {
  const std::string option = strf("--val-split %g", job.val_split);
  if (!job.val_dir.empty())
    throw UserError(option + " and --val " + job.val_dir +
                    " both select the validation images; remove one of them");
  if (places.val.found() && places.val.location.split.empty())
    throw UserError(option + " is for data without validation images, but there is " +
                    places.val.location.text +
                    "; remove it, or name only the training images: --train " +
                    places.train.location.text);
  if (places.train.location.is_pipe())
    throw UserError(
        option +
        " cannot split images that come through a pipe; give validation images with --val PATH");
  if (!job.val_labels.empty()) throw UserError("--val-labels cannot be used with " + option);
}

std::string split_folders(const std::vector<std::string>& classes) {
  const auto is_split = [&](const std::string& name) {
    const std::vector<std::string> val = data::folder_names("val");
    return name == "train" || name == "test" || std::ranges::find(val, name) != val.end();
  };
  if (classes.size() < 2 || std::ranges::find(classes, "train") == classes.end() ||
      !std::ranges::all_of(classes, is_split))
    return "";
  return joined({classes.begin(), classes.end() - 1}) + " and " + classes.back();
}

void check_not_splits(const Split& split, const std::vector<std::string>& classes) {
  const data::Location& location = split.location;
  const std::vector<std::string> own_names = data::folder_names(split.name);
  if (!location.split.empty() && classes.size() == 1 &&
      std::ranges::find(own_names, classes[0]) != own_names.end())
    throw UserError(split.option + ": the images in " + location.text + " are directly in " +
                    classes[0] + "/; put those of each class into a folder " + classes[0] +
                    "/CLASS/");
  const std::string names = split_folders(classes);
  if (names.empty() || split.option == "--data") return;
  std::string folder = split.location.text;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  const std::string found =
      "the class folders of " + split.option + " " + folder + " are called " + names;
  std::string own = folder + "/" + split.name;
  for (const std::string& name : own_names)
    if (!fs::is_directory(own)) own = folder + "/" + name;
  if (fs::is_regular_file(folder) && data::find_split(folder, split.name))
    throw UserError(found + "; use --data " + folder);
  if (!fs::is_directory(own))  // such as a packed set, or a folder with only train/ and test/
    throw UserError(found + "; give the images of one of these folders");
  const std::string both = data::find_split(folder, "val") ? "--data " + folder + ", or " : "";
  throw UserError(found + "; use " + both + split.option + " " + own);
}

void check_synsets(const train::Job& job) {
  if (!job.val_synsets.empty() && job.val_labels.empty())
    throw UserError("--val-synsets has no effect without --val-labels");
}

void check_source_options(const train::Job& job, const DataPlaces& places, bool with_train) {
  check_synsets(job);
  if (with_train && places.train.location.is_pipe() && !job.portion.all())
    throw UserError(portion_text(job) +
                    " cannot select among images that come through a pipe, because only files "
                    "can be listed; omit it, or give the images as files");
  if (job.tfrecord_keys.empty()) return;
  const auto may_be_records = [](const Split& split) {
    return split.location.is_pipe() || data::holds_tf_records(split.location);
  };
  const bool reads_train = with_train || job.val_split > 0;
  if (may_be_records(places.val) || (reads_train && may_be_records(places.train))) return;
  throw UserError("--tfrecord-keys has no effect: the images are not TFRecords");
}

}  // namespace shoal::app
