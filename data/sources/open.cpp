#include "data/sources/open.h"

#include <array>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "data/file.h"
#include "data/formats.h"
#include "data/sources/file_list.h"
#include "data/sources/patterns.h"
#include "data/sources/tar_reader.h"
#include "data/sources/tar_source.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

struct RecordKind {
  std::string_view name;
  bool (*is)(const File&);
  std::shared_ptr<const Dataset> (*open)(const Paths&, const OpenOptions&);
};
constexpr RecordKind kRecordKinds[] = {
    {"a tar", is_tar, open_tars},
};

const RecordKind* kind_of(const std::string& path) {
  const File file(path);
  for (const RecordKind& kind : kRecordKinds)
    if (kind.is(file)) return &kind;
  return nullptr;
}

bool is_picture(const std::string& path) {
  std::array<uint8_t, 32> head{};
  const File file(path);
  const int64_t bytes = file.read_at(0, head.data(), static_cast<int64_t>(head.size()));
  return recognise({head.data(), static_cast<size_t>(bytes)}) != Format::unknown;
}

std::string known_kinds() {
  std::string text;
  for (const RecordKind& kind : kRecordKinds)
    text += std::string(text.empty() ? "" : ", ") += kind.name;
  return text;
}

std::shared_ptr<const Dataset> open_folder_of_files(const std::string& folder,
                                                    const OpenOptions& options) {
  const RecordKind* kind = nullptr;
  Paths paths;
  std::string strange;
  for (const std::string& path : files_in(folder)) {
    const RecordKind* const found = kind_of(path);
    if (found == nullptr) {
      strange = path;
      continue;
    }
    if (kind != nullptr && kind != found)
      throw std::invalid_argument(folder + " holds files of several kinds: " + paths[0] + " is " +
                                  std::string(kind->name) + ", " + path + " is " +
                                  std::string(found->name) + "; keep them apart");
    kind = found;
    paths.push_back(path);
  }
  if (kind == nullptr) {
    if (!options.labels.empty()) return open_flat_folder(folder, options);
    throw std::invalid_argument(
        folder +
        (is_picture(strange)
             ? " holds pictures without class folders; expected " + folder +
                   "/<class>/<pictures>, or --val-labels FILE for validation pictures"
             : " holds no class folders; expected " + folder +
                   "/<class>/<pictures>, or files of a kind that can be read: " + known_kinds()));
  }
  if (!strange.empty() && options.warning)
    options.warning(strange + " is left out: it is not " + std::string(kind->name) +
                    " like the files beside it");
  return kind->open(paths, options);
}

}  // namespace

bool holds_only_files(const std::string& folder) {
  if (!fs::is_directory(folder)) return false;
  bool files = false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with('.')) continue;
    if (entry.is_directory()) return false;
    files = true;
  }
  return files;
}

std::shared_ptr<const Dataset> open_records(const std::string& path, const OpenOptions& options) {
  if (fs::is_directory(path)) return open_folder_of_files(path, options);
  const Paths paths = is_pattern(path) ? expand_pattern(path) : Paths{path};
  const RecordKind* const kind = kind_of(paths[0]);
  if (kind == nullptr)
    throw std::invalid_argument(paths[0] + " is of no kind that can be read: " + known_kinds());
  for (const std::string& other : paths)
    if (kind_of(other) != kind)
      throw std::invalid_argument(other + " is not " + std::string(kind->name) + " like " +
                                  paths[0]);
  return kind->open(paths, options);
}

}  // namespace shoal::data
