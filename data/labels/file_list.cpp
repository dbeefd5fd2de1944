#include "data/labels/file_list.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include "data/container/image_files.h"
#include "data/folder/image_folder.h"
#include "data/folder/patterns.h"
#include "data/labels/labels.h"
#include "data/split.h"

namespace shoal::data {
namespace {

// Returns the path, with a slash at its end, of the innermost folder that contains all images.
std::string common_folder(const std::vector<ListedImage>& images) {
  std::string_view common = images.front().path;
  for (const ListedImage& image : images) {
    const auto end = std::ranges::mismatch(common, image.path).in1;
    common = common.substr(0, static_cast<size_t>(end - common.begin()));
  }
  return std::string(common.substr(0, common.rfind('/') + 1));  // npos + 1 is 0
}

}  // namespace

FileListDataset::FileListDataset(std::vector<ListedImage> images, std::vector<std::string> classes,
                                 std::string folder)
    : images_(std::move(images)), classes_(std::move(classes)), folder_(std::move(folder)) {
  if (!folder_.empty() && !folder_.ends_with('/')) folder_ += '/';
  const auto is_inside = [&](const auto& image) {
    return folder_.empty() ? !image.path.starts_with('/') : image.path.starts_with(folder_);
  };
  if (!images_.empty() && !std::ranges::all_of(images_, is_inside))
    folder_ = common_folder(images_);
}

std::string FileListDataset::key(int64_t sample) const {
  std::string path = at(sample).path.substr(folder_.size());
  path.erase(0, path.find_first_not_of('/'));  // keys never begin with a slash
  return split_key_of_path(classes_[static_cast<size_t>(label(sample))], path);
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
  return std::make_shared<FileListDataset>(std::move(images), classes, folder);
}

}  // namespace shoal::data
