#pragma once
// Names of ImageNet's classes. Torch-free.

#include <string>
#include <vector>

namespace shoal::app {

// The value of --classes that means these names.
inline constexpr const char* kImageNet = "imagenet";
inline constexpr int kImageNetClasses = 1000;

// The names of the classes of ILSVRC 2012, in the order of the labels of torchvision's and timm's
// weights, which is that of the sorted WordNet numbers.
const std::vector<std::string>& imagenet_classes();

// The names of their class folders, in the same order: "n01440764", …
const std::vector<std::string>& imagenet_synsets();

}  // namespace shoal::app
