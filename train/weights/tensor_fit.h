#pragma once
// Compares the tensors in a file with those of a model. Does not use LibTorch.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/weights/formats/stored_tensor.h"
#include "train/weights/name_families.h"

namespace shoal::train {

// A tensor of the model that the file lacks or has in another shape.
struct Misfit {
  TensorShape wanted;
  std::string stored_name;                           // name of `wanted` in the file's name family
  std::optional<std::vector<int64_t>> stored_sizes;  // unset: the file does not have it
  // "conv1.weight has the shape 64×3×7×7, in the file 64×1×7×7", "… is missing"
  std::string sentence() const;
};

struct Fit {
  const NameFamily* family = nullptr;
  std::vector<std::pair<std::string, std::string>> taken;  // name in the model, name in the file
  std::vector<Misfit> misfits;
  std::vector<std::string> unused;  // tensors of the file that the model does not have

  bool complete() const { return misfits.empty(); }
  // Whether all tensors would fit if the model were for grayscale images instead of RGB images.
  bool needs_gray() const;
  // Counts the tensors of the file and of the model together, and returns the fraction (0 to 1)
  // that have a match of the same name and shape.
  double share() const;
};

// Finds the tensors of `model` in `file`, using the name family with the most names in common with
// the file. The number of classes may differ: for the layer `classifier` ("fc"), the first size of
// a tensor is not compared. If the model is for grayscale images, the file's first convolution may
// be for RGB images (fit_channels() in preprocessing.h).
Fit fit_tensors(const TensorShapes& model, const std::string& classifier, const TensorShapes& file);

// Returns the first entries of a list: "a, b, c and 9 more".
std::string first_of(std::vector<std::string> list, size_t most = 3);
std::vector<std::string> sentences(const std::vector<Misfit>& misfits);

std::string shape_text(const std::vector<int64_t>& sizes);  // "64×3×7×7", "scalar"
TensorShapes shapes_of(const StoredTensors& tensors);

}  // namespace shoal::train
