#include "data/sources/location.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/file/folder.h"
#include "data/container/scan_files.h"
#include "data/folder/image_folder.h"
#include "data/folder/patterns.h"
#include "data/lists/csv_list.h"
#include "data/pack/reader.h"
#include "data/pack/shards.h"
#include "data/records/cifar.h"
#include "data/records/tf_record.h"
#include "data/sources/archives/split_folder.h"
#include "data/sources/archives/zip_source.h"
#include "data/sources/formats.h"
#include "data/sources/open.h"
#include "data/sources/pipes.h"
#include "data/sources/synthetic.h"
#include "data/tar/tar_reader.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;
using Opened = std::shared_ptr<const Dataset>;

// If `path` is a folder whose only visible entry is a packed set, returns the path of this set
// (a SageMaker channel with the output of a packing job). Otherwise returns `path`.
std::string packed_set_in(const std::string& path) {
  if (!fs::is_directory(path) || is_sharded_set(path)) return path;
  std::string found;
  for (const auto& entry : entries_of(path)) {
    if (entry.path().filename().string().starts_with('.')) continue;
    if (!found.empty() || type_of(entry) != fs::file_type::regular) return path;
    found = entry.path().string();
  }
  return !found.empty() && is_packed_set(found) ? found : path;
}

Opened open_path(const std::string& named, const OpenOptions& options) {
  const std::string path = packed_set_in(named);
  const bool one = is_packed_set(path), sharded = is_sharded_set(path), packed = one || sharded;
  const bool file = fs::is_regular_file(path) || fs::is_fifo(path) || is_pattern(path);
  if (!packed && (file || holds_only_files(path))) return open_records(path, options);
  if (!options.labels.empty()) refuse_labels(path);
  if (one) return std::make_shared<PackedDataset>(path);
  if (sharded) return std::make_shared<ShardedDataset>(path);
  return open_image_folder(path, options);
}

// Opens a synthetic dataset. `text`: IMAGES[:CLASSES[:WIDTHxHEIGHT]].
Opened open_synthetic(const std::string& text, const OpenOptions& given) {
  if (!given.labels.empty()) refuse_labels("synthetic:" + text);
  SyntheticOptions options;
  int64_t* const fields[] = {&options.images, &options.classes, &options.width, &options.height};
  const char separators[] = {':', ':', 'x', '\0'};
  const char *at = text.data(), *const end = at + text.size();
  bool good = true;
  int field = 0;
  for (; good && field < 4; ++field) {
    const auto result = std::from_chars(at, end, *fields[field]);
    good = result.ec == std::errc();
    at = result.ptr;
    if (at == end) break;
    good = good && *at++ == separators[field];
  }
  if (!good || at != end || field == 2)
    throw std::invalid_argument(
        "'synthetic:" + text +
        "' is not understood; write synthetic:IMAGES[:CLASSES[:WIDTHxHEIGHT]]");
  return make_synthetic(options);
}

Opened refuse_pipe(const std::string& path, const OpenOptions&) {
  throw std::invalid_argument("the images of pipe:" + path +
                              " can be read only once and in the order of the pipe; only train and "
                              "eval can read them");
}

struct KindRow {
  Location::Kind kind;
  std::string_view prefix;
  Opened (*open)(const std::string&, const OpenOptions&);
  bool (*recognizes)(const std::string& text) = nullptr;  // null: any text with the prefix
};
// The last row matches everything.
constexpr KindRow kKinds[] = {
    {Location::Kind::synthetic, "synthetic:", open_synthetic},
    {Location::Kind::folder, "folder:", open_image_folder},
    {Location::Kind::pipe, "pipe:", refuse_pipe},
    {Location::Kind::csv_list, "", open_csv_list, is_csv_list},
    {Location::Kind::path, "", open_path},
};

const KindRow& row_of(const std::string& text) {
  return *std::find_if(std::begin(kKinds), std::end(kKinds), [&](const KindRow& row) {
    return text.starts_with(row.prefix) && (!row.recognizes || row.recognizes(text));
  });
}

// Returns the places in `folder` where a split may be, in the order in which to try them.
std::vector<std::string> candidates(const std::string& folder, const std::string& split) {
  const std::string place = folder + "/" + split;
  std::vector<std::string> all = {place, place + ".pack"};
  for (const RecordFormat& format : record_formats())
    if (!format.extension.empty()) all.push_back(place + "." + std::string(format.extension));
  all.push_back(folder + "/ILSVRC2012_img_" + split + ".tar");
  for (const char* extension : kListExtensions) all.push_back(place + extension);
  all.push_back(place + "-*");
  if (split == "val") all.push_back(folder + "/validation-*");
  for (const std::string& name : folder_names(split))
    if (name != split) all.push_back(folder + "/" + name);
  for (const char* name : cifar_files(split)) all.push_back(folder + "/" + name);
  return all;
}

// Whether a split is at `place`, one of candidates(). A .bin file must also be a file of CIFAR
// (is_cifar()), because a file named test.bin may contain anything.
bool is_split_place(const std::string& place) {
  if (!place.ends_with(".bin")) return path_exists(place) || matches_files(place);
  return matches_files(place) && is_cifar(File(expand_pattern(place)[0]));
}

}  // namespace

Location resolve(const std::string& text) {
  Location location{row_of(text).kind, text};
  // Patterns count as existing: opening a pattern with braces reports the first missing file.
  if (location.kind == Location::Kind::path)
    location.exists = is_pattern(text) || path_exists(text);
  return location;
}

std::optional<Location> find_split(const std::string& folder, const std::string& split) {
  std::error_code error;  // ignored: on an error, `folder` is not read as an archive
  if (fs::is_regular_file(folder, error)) {
    const File file(folder);
    if (!is_tar(file) && !is_zip(file)) return std::nullopt;
    return Location{Location::Kind::path, folder, true, split};
  }
  for (const std::string& place : candidates(folder, split))
    if (is_split_place(place)) return Location{row_of(place).kind, place};
  return std::nullopt;
}

std::string split_places(const std::string& split) {
  const std::vector<std::string> places = candidates("", split);
  std::string text = split + "/";
  for (size_t i = 1; i < places.size(); ++i)
    text += (i + 1 < places.size() ? ", " : " or ") + places[i].substr(1);
  return text;
}

std::shared_ptr<const Dataset> open_dataset(const Location& location, const OpenOptions& options) {
  const KindRow& row = row_of(location.text);
  OpenOptions of_split = options;
  of_split.split = location.split;
  return row.open(location.text.substr(row.prefix.size()), of_split);
}

std::shared_ptr<const Dataset> open_dataset(const std::string& source, const OpenOptions& options) {
  return open_dataset(Location{row_of(source).kind, source}, options);
}

std::shared_ptr<const Stream> open_stream(const std::string& text, const OpenOptions& options) {
  const KindRow& row = row_of(text);
  if (row.kind != Location::Kind::pipe) throw std::invalid_argument(text + " is not a pipe");
  return open_pipes(text.substr(row.prefix.size()), options);
}

bool holds_tf_records(const Location& location) {
  const std::string& path = location.text;
  std::vector<std::string> paths;
  if (holds_only_files(path)) {
    paths = files_in(path);
  } else if (is_pattern(path)) {
    paths = expand_pattern(path);
  } else if (fs::is_regular_file(path)) {
    paths = {path};
  }
  return std::any_of(paths.begin(), paths.end(), [](const std::string& file) {
    return fs::is_regular_file(file) && is_tf_record(File(file));  // opening a pipe would wait
  });
}

}  // namespace shoal::data
