#include "data/sources/open.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "data/file.h"
#include "data/folder/image_files.h"
#include "data/folder/patterns.h"
#include "data/image/formats.h"
#include "data/labels/file_list.h"
#include "data/records/record_io.h"
#include "data/records/tf_record.h"
#include "data/sources/manifest.h"
#include "data/tar/inflate.h"
#include "data/tar/tar_reader.h"
#include "data/tar/tar_source.h"

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
    {"RecordIO", is_record_io, open_record_io},
    {"TFRecord", is_tf_record, open_tf_records},
};
// Looked for only where a file is named itself: other JSON may lie beside records.
constexpr RecordKind kManifest = {"a manifest", is_manifest, open_manifest};

const RecordKind* kind_of(const std::string& path, bool named = false) {
  const File file(path);
  for (const RecordKind& kind : kRecordKinds)
    if (kind.is(file)) return &kind;
  return named && kManifest.is(file) ? &kManifest : nullptr;
}

std::array<uint8_t, kImageHead> first_bytes(const std::string& path) {
  std::array<uint8_t, kImageHead> head{};
  File(path).read_at(0, head.data(), static_cast<int64_t>(head.size()));
  return head;
}

bool file_is_image(const std::string& path) {
  return recognise(first_bytes(path)) != Format::unknown;
}

std::string known_kinds() {
  std::string text;
  for (const RecordKind& kind : kRecordKinds)
    text += std::string(text.empty() ? "" : ", ") += kind.name;
  return text;
}

[[noreturn]] void refuse_file(const std::string& path) {
  if (is_compressed(first_bytes(path)))
    throw std::invalid_argument(path +
                                " is compressed, so its images cannot be read in any order; "
                                "unpack it (gunzip)");
  throw std::invalid_argument(path + " is of no kind that can be read: " + known_kinds());
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
        (file_is_image(strange)
             ? " holds images without class folders; expected " + folder +
                   "/<class>/<images>, or --val-labels FILE for validation images"
             : " holds no class folders; expected " + folder +
                   "/<class>/<images>, or files of a kind that can be read: " + known_kinds()));
  }
  if (!strange.empty() && options.warning)
    options.warning(strange + " is left out: it is not " + std::string(kind->name) +
                    " like the files beside it");
  return kind->open(paths, options);
}

}  // namespace

bool is_record_file(const std::string& path, bool named) {
  return kind_of(path, named) != nullptr;
}

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
  const RecordKind* const kind = kind_of(paths[0], /*named=*/true);
  if (kind == nullptr) refuse_file(paths[0]);
  for (const std::string& other : paths)
    if (kind_of(other, /*named=*/true) != kind)
      throw std::invalid_argument(other + " is not " + std::string(kind->name) + " like " +
                                  paths[0]);
  return kind->open(paths, options);
}

}  // namespace shoal::data
