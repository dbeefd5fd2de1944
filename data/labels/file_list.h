#pragma once
// Dataset of a list of image files with given labels.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"

namespace shoal::data {

struct ListedImage {
  std::string path;
  int32_t label = 0;
};

class FileListDataset : public BasicDataset {
 public:
  // `folder`: empty for the working directory; otherwise ends with a slash. The key of an image is
  // its path from its class folder on. Without a class folder, the key is the path relative to
  // `folder` or, if an absolute path is outside `folder`, NAME-HASH/FILE with the name and a hash
  // of the image's own folder.
  FileListDataset(std::vector<ListedImage> images, std::vector<std::string> classes,
                  const std::string& folder);

  int64_t size() const override { return static_cast<int64_t>(images_.size()); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int32_t label(int64_t sample) const override { return at(sample).label; }
  std::string name(int64_t sample) const override { return at(sample).path; }
  std::string key(int64_t sample) const override;
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override;
  void will_read(int64_t first, int64_t count) const override;

 private:
  const ListedImage& at(int64_t sample) const { return images_[static_cast<size_t>(sample)]; }
  std::vector<ListedImage> images_;
  std::vector<std::string> classes_;
  // The folder as it was given (unless empty), and its absolute path. Both end with a slash.
  std::vector<std::string> folders_;
};

// Opens a folder of images without class folders. The file options.labels contains the classes of
// the images (labels.h). Samples are sorted by class and path. Throws std::invalid_argument for
// user errors, std::runtime_error for system errors.
std::shared_ptr<const Dataset> open_flat_folder(const std::string& folder,
                                                const OpenOptions& options);

}  // namespace shoal::data
