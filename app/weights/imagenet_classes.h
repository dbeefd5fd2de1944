#pragma once
// Names of ImageNet's classes. Does not use LibTorch.

#include <string>
#include <vector>

namespace shoal::app {

// The value of --classes that means ImageNet's classes.
inline constexpr const char* kImageNet = "imagenet";
inline constexpr int kImageNetClasses = 1000;

// ImageNet-1k class names in label order (sorted WordNet IDs), as in torchvision and timm.
const std::vector<std::string>& imagenet_classes();

// Names of ImageNet's class folders in label order: "n01440764", ... These are WordNet IDs.
const std::vector<std::string>& imagenet_synsets();

}  // namespace shoal::app
