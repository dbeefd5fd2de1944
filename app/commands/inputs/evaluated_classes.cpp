#include "app/commands/inputs/evaluated_classes.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "app/commands/inputs/datasets.h"
#include "app/options/class_names.h"
#include "app/weights/imagenet_classes.h"
#include "base/file/whole_file.h"
#include "base/log.h"
#include "base/nearest.h"
#include "data/dataset.h"
#include "data/sources/relabeled.h"
#include "dist/gather.h"

namespace shoal::app {
namespace {

using Classes = std::vector<std::string>;

// Returns the names "0" to "N-1".
Classes numbers_below(int64_t count) {
  Classes names;
  for (int64_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

// Returns the set of labels of the images of all ranks. Collective.
std::set<int32_t> labels_in(const data::Source& images, const dist::Group& group) {
  const data::Dataset* const dataset = data::as_dataset(images);
  if (!dataset)
    throw UserError(
        "--subset needs images whose classes are known before they are read; give files instead of "
        "a pipe, and add --no-forward-reads");
  std::set<int32_t> labels;
  for (int64_t i = 0; i < dataset->size(); ++i) labels.insert(dataset->label(i));
  std::string mine;
  for (const int32_t label : labels) mine += std::to_string(label) + ' ';
  for (const std::string& text : dist::gather_text(group, mine))
    for (const std::string& label : split(text, ' ')) labels.insert(std::stoi(label));
  return labels;
}

std::set<int32_t> labels_of_file(const std::string& path, const Classes& classes) {
  if (!std::filesystem::exists(path))
    throw UserError("--subset " + path + " does not exist; give `all`, `data` or a file");
  std::set<int32_t> labels;
  int64_t number = 0;
  for (const std::string& line : read_lines(path)) {
    ++number;
    if (line.empty()) continue;
    const auto found = std::find(classes.begin(), classes.end(), line);
    if (found == classes.end()) {
      const std::string near = nearest(line, classes);
      throw UserError("--subset " + path + " line " + std::to_string(number) + ": '" + line +
                      "' is not a class of the model" +
                      (near.empty() ? "" : "; did you mean '" + near + "'?"));
    }
    labels.insert(static_cast<int32_t>(found - classes.begin()));
  }
  if (labels.empty()) throw UserError("--subset " + path + " names no class");
  return labels;
}

}  // namespace

Classes folder_names(const Arguments& arguments, const Weights& weights) {
  const std::string& given = arguments.job.classes_file;
  if (given.empty()) return weights.classes;
  Classes names = given == kImageNet ? imagenet_synsets() : read_class_names(given, kImageNet);
  check_class_count(weights, names.size(), "--classes " + given + " names");
  if (given != kImageNet && !weights.classes.empty() && weights.classes != names)
    log::info("--classes " + given + " replaces the class names of " + weights.file);
  return names;
}

std::shared_ptr<const data::Source> with_labels_of(const Weights& weights,
                                                   std::shared_ptr<const data::Source> images) {
  const auto dataset = std::dynamic_pointer_cast<const data::Dataset>(images);
  if (!dataset) return images;
  const Classes& own = images->classes();
  const int64_t outputs = weights.job.model.classes;
  const Classes& folders = imagenet_synsets();
  const bool imagenet = outputs == kImageNetClasses && own != folders &&
                        std::ranges::all_of(own, [&](const std::string& name) {
                          return std::ranges::binary_search(folders, name);
                        });
  if (imagenet) return data::with_classes(dataset, folders, "ImageNet");
  auto labels = data::numeric_labels(own, outputs);
  if (labels.empty()) return images;
  return data::relabeled(dataset, numbers_below(outputs), std::move(labels));
}

std::vector<int32_t> subset_of(const Arguments& arguments, const data::Source& images,
                               const dist::Group& group) {
  const std::string& subset = arguments.eval.subset;
  if (subset == "all") return {};
  const std::set<int32_t> used = labels_in(images, group);
  if (subset == "data") return {used.begin(), used.end()};
  const std::set<int32_t> named = labels_of_file(subset, images.classes());
  for (const int32_t label : used)
    if (!named.contains(label))
      throw UserError("--subset " + subset + " lacks the class '" +
                      images.classes()[static_cast<size_t>(label)] + "', which has images");
  return {named.begin(), named.end()};
}

}  // namespace shoal::app
