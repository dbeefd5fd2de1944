#pragma once
// Files with several correct labels per image, such as ImageNet-ReaL's real.json.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace shoal::data {

// Immutable after construction; thread-safe.
class RealLabels {
 public:
  // `path` contains JSON in one of two forms:
  //   * a list of lists of labels, as in real.json. List number N, counted from 1, has the labels
  //     of the image whose name ends in N;
  //   * an object that maps each image's name, with or without folder and extension, to its list of
  //     labels.
  // Labels are numbers below `outputs` (the number of classes of the model), or names in `classes`.
  // Throws std::invalid_argument for other content, naming the file and any bad entry, and
  // std::system_error if the file cannot be read.
  RealLabels(const std::string& path, const std::vector<std::string>& classes, int64_t outputs);

  // Returns the labels of an image; empty if the file lists none. Throws std::invalid_argument if
  // the file does not contain the image.
  const std::vector<int32_t>& of(const std::string& name) const;

 private:
  std::string path_;
  bool numbered_ = false;
  std::unordered_map<std::string, std::vector<int32_t>> labels_;  // by image number or stem_of()
};

}  // namespace shoal::data
