#pragma once
// Classes of images that carry none themselves, from a file beside them: ImageNet's validation
// images come so.

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace shoal::data {

// What --val-labels names. Immutable once made; any thread.
class LabelFile {
 public:
  // `path` holds one of
  //   * lines `NAME CLASS` (blanks or a comma between), the name with or without folder and
  //     extension, the class by name or, when all are numbers, counting in `known` from 0 on;
  //   * ImageId,PredictionString: Kaggle's LOC_val_solution.csv;
  //   * numbers alone, line N for the image whose name ends in N: the devkit's
  //     ILSVRC2012_validation_ground_truth.txt. Its numbers count in an order of its own, which
  //     `synsets` tells: the devkit's meta.mat, or lines `CLASS NUMBER`, as in map_clsloc.txt;
  //   * the whole devkit as it is downloaded (devkit.h), which holds both.
  // Throws std::invalid_argument for everything else, also when `synsets` is missing or has no use.
  LabelFile(const std::string& path, const std::string& synsets,
            const std::vector<std::string>& known);

  // All class names in it, sorted.
  const std::vector<std::string>& classes() const { return classes_; }
  // The class of the image of that name: its place in classes(). Throws std::invalid_argument
  // when it has none.
  size_t class_of(const std::string& name) const;

 private:
  // Both: a class's name for each key, which is an image's number or its name.
  void read_numbers(const std::vector<std::string>& lines,
                    const std::map<int64_t, std::string>& names);
  void read_pairs(const std::vector<std::string>& lines, const std::vector<std::string>& known);

  std::string path_;
  std::vector<std::string> classes_;
  bool numbered_ = false;
  std::unordered_map<int64_t, std::string> by_number_;
  std::unordered_map<std::string, std::string> by_name_;  // names without folder and extension
};

// Which class each of the devkit's numbers means: number → name. Throws std::invalid_argument.
std::map<int64_t, std::string> read_synsets(const std::string& path);

}  // namespace shoal::data
