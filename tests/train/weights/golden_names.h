#pragma once
// Reads tests/golden/weight_names.txt and the tensors in models.txt.

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "train/weights/tensor_fit.h"

namespace shoal::train {

// Parses "[32,3,3,3]".
inline std::vector<int64_t> sizes_in(const std::string& text) {
  std::vector<int64_t> sizes;
  std::istringstream in(text.substr(1));
  for (std::string size; std::getline(in, size, ',');)
    if (size != "]") sizes.push_back(std::stoll(size));
  return sizes;
}

// Returns the parameters and buffers of torchvision's efficientnet_b0, resnet18 or resnet50.
inline TensorShapes golden_model(const std::string& model) {
  TensorShapes shapes;
  std::ifstream file(SHOAL_SOURCE_DIR "/tests/golden/models.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string kind, of, name, sizes;
    in >> kind >> of >> name >> sizes;
    if (kind == "state" && of == model) shapes.push_back({name, sizes_in(sizes)});
  }
  return shapes;
}

struct GoldenNames {
  std::map<std::string, std::string> names;   // in torchvision's efficientnet_b0 → in the family
  std::map<std::string, std::string> hashes;  // by model
};
inline GoldenNames golden_names(const std::string& family) {
  GoldenNames golden;
  std::ifstream file(SHOAL_SOURCE_DIR "/tests/golden/weight_names.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string kind, of, model, ours, theirs;
    in >> kind >> of >> model >> ours >> theirs;
    if (of != family) continue;
    if (kind == "name") golden.names[ours] = theirs;
    if (kind == "hash") golden.hashes[model] = ours;
  }
  return golden;
}

// Renames the tensors of torchvision's efficientnet_b0 to the names of the family.
inline TensorShapes in_family(const TensorShapes& model, const std::string& family) {
  const GoldenNames golden = golden_names(family);
  TensorShapes shapes;
  for (const auto& tensor : model) shapes.push_back({golden.names.at(tensor.name), tensor.sizes});
  return shapes;
}

}  // namespace shoal::train
