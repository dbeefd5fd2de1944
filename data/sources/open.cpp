#include "data/sources/open.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file/folder.h"
#include "base/text.h"
#include "data/container/image_extensions.h"
#include "data/container/image_files.h"
#include "data/container/inflate.h"
#include "data/file.h"
#include "data/folder/patterns.h"
#include "data/image/formats.h"
#include "data/labels/file_list.h"
#include "data/lists/csv_list.h"
#include "data/lists/manifest.h"
#include "data/sources/formats.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

// A manifest is recognized only if the user names the file itself, because folders of records may
// contain other JSON files.
constexpr RecordFormat kManifest = {"a manifest", is_manifest, open_manifest, nullptr, nullptr};

const RecordFormat* format_of(const std::string& path, bool named = false) {
  const File file(path);
  for (const RecordFormat& format : record_formats())
    if (format.is_file(file)) return &format;
  return named && kManifest.is_file(file) ? &kManifest : nullptr;
}

std::array<uint8_t, kImageHead> first_bytes(const std::string& path) {
  std::array<uint8_t, kImageHead> head{};
  File(path).read_at(0, head.data(), static_cast<int64_t>(head.size()));
  return head;
}

bool file_is_image(const std::string& path) {
  return recognize(first_bytes(path)) != Format::unknown;
}

// Throws std::invalid_argument if `path` is a named pipe: opening it would wait for a writer.
void refuse_pipe_file(const std::string& path) {
  std::error_code error;  // ignored: opening the file reports it
  if (fs::is_fifo(path, error))
    throw std::invalid_argument(path +
                                " is a named pipe; give pipe:PATH to read PATH_0, PATH_1, …");
}

[[noreturn]] void refuse_file(const std::string& path) {
  if (const std::string text = compression_error(path); !text.empty())
    throw std::invalid_argument(text);
  const auto head = first_bytes(path);
  const bool image = recognize(head) != Format::unknown;
  throw std::invalid_argument(
      path + (image ? " is a single image" : " has an unknown format") +
      "; shoal reads folders of images (one folder per class), packed sets, manifests, single "
      "lists (.csv, .tsv) and files of many images (" +
      format_names() + ")");
}

// If there is a list FOLDER.csv or FOLDER.tsv, returns words that suggest the list in an error
// message. Otherwise returns an empty text.
std::string list_beside(const std::string& folder) {
  const std::string name = folder.substr(0, folder.find_last_not_of('/') + 1);
  for (const char* extension : kListExtensions)
    if (const std::string list = name + extension; is_csv_list(list))
      return "the list " + list + ", ";
  return "";
}

std::shared_ptr<const Dataset> open_folder_of_files(const std::string& folder,
                                                    const OpenOptions& options) {
  const RecordFormat* format = nullptr;
  Paths paths;
  std::vector<std::string> strange;
  std::vector<std::pair<std::string, const RecordFormat*>> files;
  for (const std::string& path : files_in(folder)) files.emplace_back(path, format_of(path));
  const auto is_zip = [](const RecordFormat* one) { return one && one->extension == "zip"; };
  // A zip beside images or records is a document or a download, not the dataset.
  const bool other_data = std::any_of(files.begin(), files.end(), [&](const auto& file) {
    return !is_zip(file.second) && (file.second || has_image_extension(file.first));
  });
  for (const auto& [path, own] : files) {
    const RecordFormat* const found = other_data && is_zip(own) ? nullptr : own;
    if (found == nullptr) {
      strange.push_back(path);
      continue;
    }
    if (format != nullptr && format != found)
      throw std::invalid_argument(folder + " contains files of several formats: " + paths[0] +
                                  " is " + std::string(format->name) + ", " + path + " is " +
                                  std::string(found->name) + "; keep them apart");
    format = found;
    paths.push_back(path);
  }
  if (format == nullptr) {
    if (!options.labels.empty()) return open_flat_folder(folder, options);
    if (const auto list = std::ranges::find_if(strange, is_csv_list); list != strange.end())
      throw std::invalid_argument(folder +
                                  " contains no class folders, but a list of images; name "
                                  "the list instead of the folder: " +
                                  *list);
    if (!strange.empty() && !compression_error(strange.front()).empty())
      refuse_file(strange.front());
    throw std::invalid_argument(
        folder +
        (!strange.empty() && file_is_image(strange.front())
             ? " contains images without class folders; expected " + folder +
                   "/<class>/<images>, " + list_beside(folder) +
                   "or --val-labels FILE for validation images"
             : " contains no class folders; expected " + folder +
                   "/<class>/<images>, a list (.csv, .tsv), or files in one of these formats: " +
                   format_names()));
  }
  if (format->belongs != nullptr) std::erase_if(strange, format->belongs);
  if (!strange.empty() && options.warning)
    options.warning(joined(strange, ", ", 1) +
                    (strange.size() == 1 ? " is left out: it is" : " are left out: they are") +
                    " not " + std::string(format->name) + " like the files beside it");
  return format->open_files(paths, options);
}

}  // namespace

bool is_record_file(const std::string& path, bool named) {
  return format_of(path, named) != nullptr;
}

std::string compression_error(const std::string& path) {
  const auto head = first_bytes(path);
  const std::string_view tool = is_gzip(head) ? "gzip" : foreign_compression(head);
  if (tool.empty()) return "";
  const std::string name = lower(fs::path(path).filename().string());
  const bool tar = name.find(".tar.") != name.npos || name.ends_with(".tgz") ||
                   name.ends_with(".tbz2") || name.ends_with(".txz");
  return path + " is compressed; unpack it: " + (tar ? "tar xf " : std::string(tool) + " -d ") +
         path;
}

bool holds_only_files(const std::string& folder) {
  if (!fs::is_directory(folder)) return false;
  bool files = false;
  for (const auto& entry : entries_of(folder)) {
    if (entry.path().filename().string().starts_with('.')) continue;
    if (type_of(entry) == fs::file_type::directory) return false;
    files = true;
  }
  return files;
}

std::shared_ptr<const Dataset> open_records(const std::string& path, const OpenOptions& options) {
  if (fs::is_directory(path)) return open_folder_of_files(path, options);
  const Paths paths = is_pattern(path) ? expand_pattern(path) : Paths{path};
  for (const std::string& one : paths) {
    refuse_pipe_file(one);
    if (is_csv_list(one))
      throw std::invalid_argument(one +
                                  " is a list of images, and a pattern cannot name lists; name the "
                                  "list itself");
  }
  const RecordFormat* const format = format_of(paths[0], /*named=*/true);
  if (format == nullptr) refuse_file(paths[0]);
  for (const std::string& other : paths)
    if (format_of(other, /*named=*/true) != format)
      throw std::invalid_argument(other + " is not " + std::string(format->name) + " like " +
                                  paths[0]);
  return format->open_files(paths, options);
}

}  // namespace shoal::data
