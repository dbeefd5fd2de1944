#include "data/labels/file_list.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include "base/hash.h"
#include "base/text.h"
#include "data/container/image_files.h"
#include "data/folder/image_folder.h"
#include "data/folder/patterns.h"
#include "data/labels/labels.h"
#include "data/split.h"

namespace shoal::data {
namespace fs = std::filesystem;

namespace {

// Shortens a/b/c.jpg to b-HASH/c.jpg, where HASH is a hash of the folder's path a/b.
std::string without_folders(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return path;
  const std::string folder = path.substr(0, slash);
  return folder.substr(folder.rfind('/') + 1) + strf("-%016lx", hash_bytes(folder)) +
         path.substr(slash);
}

}  // namespace

FileListDataset::FileListDataset(std::vector<ListedImage> images, std::vector<std::string> classes,
                                 const std::string& folder)
    : images_(std::move(images)), classes_(std::move(classes)) {
  if (!folder.empty()) folders_.push_back(folder);
  std::error_code error;  // ignored: then folders_ does not contain the absolute path
  const fs::path whole = fs::absolute(folder.empty() ? "." : folder, error);
  if (!error) folders_.push_back(whole.lexically_normal().string());
}

std::string FileListDataset::key(int64_t sample) const {
  const ListedImage& image = at(sample);
  const std::string& class_name = classes_[static_cast<size_t>(image.label)];
  for (const std::string& folder : folders_)
    if (image.path.starts_with(folder))
      return split_key_of_path(class_name, image.path.substr(folder.size()));
  const size_t slashes = std::min(image.path.find_first_not_of('/'), image.path.size());
  const std::string path = image.path.substr(slashes);
  const std::string key = split_key_of_path(class_name, path);
  // Packed sets contain the keys. The key of an image with an absolute path outside folders_ must
  // not reveal this path.
  return key == path && path != image.path ? without_folders(path) : key;
}

void FileListDataset::read(int64_t sample, std::vector<uint8_t>& bytes) const {
  read_image_file(at(sample).path, bytes);
}

void FileListDataset::will_read(int64_t first, int64_t count) const {
  for (int64_t i = first; i < first + count; ++i) will_read_image_file(at(i).path);
}

std::shared_ptr<const Dataset> open_flat_folder(const std::string& folder,
                                                const OpenOptions& options) {
  const LabelFile labels(options.labels, options.synsets, options.classes);
  const std::vector<std::string>& classes =
      options.classes.empty() ? labels.classes() : options.classes;
  std::map<std::string_view, int32_t> places;
  for (size_t i = 0; i < classes.size(); ++i) places[classes[i]] = static_cast<int32_t>(i);
  std::vector<ListedImage> images;
  LeftOut left_out;
  for (const std::string& path : files_in(folder)) {
    if (!is_image_file(path)) {
      left_out.add(path.substr(folder.size() + 1));
      continue;
    }
    const std::string& name = labels.classes()[labels.class_of(path)];
    const auto found = places.find(name);
    if (found == places.end())
      throw std::invalid_argument(options.labels + " gives " + path + " the class '" + name +
                                  "', which the training set does not have");
    images.push_back({path, found->second});
  }
  if (images.empty()) throw std::invalid_argument(folder + " has no image");
  if (options.warning && !left_out.empty()) options.warning(left_out.sentence(folder));
  std::sort(images.begin(), images.end(), [](const ListedImage& a, const ListedImage& b) {
    return std::tie(a.label, a.path) < std::tie(b.label, b.path);
  });
  return std::make_shared<FileListDataset>(std::move(images), classes, folder + "/");
}

}  // namespace shoal::data
