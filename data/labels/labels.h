#pragma once
// Reads image classes from a separate label file, as used for ImageNet's validation images.

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace shoal::data {

// The content of the file named by --val-labels. Immutable after construction; thread-safe.
class LabelFile {
 public:
  // `known`: classes of the training set; empty if not known. `path` contains one of
  //   * lines `NAME CLASS`, separated by a tab or comma (both may then contain blanks; further
  //     columns are ignored) or by blanks (further words are ignored). NAME is the name of an
  //     image, with or without folder and extension. CLASS is the name of a class. But if every
  //     CLASS is a number and none is a name in `known`, CLASS is an index into `known`;
  //   * the same lines below a header. A header is two words such as image,label (in Kaggle's
  //     LOC_val_solution.csv: ImageId,PredictionString). If the second line begins with an image's
  //     file name and the first line does not, the first line is a header, too;
  //   * one number per line, as in ILSVRC2012_validation_ground_truth.txt of ImageNet's devkit.
  //     Line N has the class number of the image whose name ends in N. The file `synsets` maps
  //     class numbers to classes: the devkit's meta.mat, or lines `CLASS NUMBER`, as in
  //     map_clsloc.txt;
  //   * the whole devkit as downloaded (devkit.h), which contains both files.
  // Throws std::invalid_argument for other content, for missing files, if `synsets` is needed but
  // empty, and if `synsets` is given although `path` contains class names. Throws FileFailure if
  // reading `path` fails.
  LabelFile(const std::string& path, const std::string& synsets,
            const std::vector<std::string>& known);

  // All class names in the file, sorted.
  const std::vector<std::string>& classes() const { return classes_; }
  // Returns the class of the image with this name, as an index into classes(). Throws
  // std::invalid_argument if the file does not contain the image.
  size_t class_of(const std::string& name) const;

 private:
  // Fills by_number_.
  void read_numbers(const std::vector<std::string>& lines,
                    const std::map<int64_t, std::string>& names);
  // Fills by_name_.
  void read_pairs(const std::vector<std::string>& lines, const std::vector<std::string>& known);

  std::string path_;
  std::vector<std::string> classes_;
  bool numbered_ = false;
  // Class names by number or name (stem_of()) of the image. Only one of the maps is used.
  std::unordered_map<int64_t, std::string> by_number_;
  std::unordered_map<std::string, std::string> by_name_;
};

// Returns the map from the devkit's class numbers to class names. `path`: the devkit's meta.mat, or
// a text file with lines `CLASS NUMBER`. Throws std::invalid_argument for anything else.
std::map<int64_t, std::string> read_synsets(const std::string& path);

}  // namespace shoal::data
