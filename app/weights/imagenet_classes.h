#pragma once
// Names of ImageNet's classes. Torch-free.

#include <string>
#include <vector>

namespace shoal::app {

// The value of --classes that means these names.
inline constexpr const char* kImageNet = "imagenet";
inline constexpr int kImageNetClasses = 1000;

// ImageNet-1k class names in label order (sorted WordNet IDs), as in torchvision and timm.
const std::vector<std::string>& imagenet_classes();

// The names of their class folders, in the same order: "n01440764", …
const std::vector<std::string>& imagenet_synsets();

}  // namespace shoal::app
