#pragma once
// The weights that --weights knows by name. known_weights.cpp is the only list of them. Does not
// use LibTorch.

#include <cstdint>
#include <string>
#include <vector>

namespace shoal::app {

struct KnownWeights {
  std::string name;   // for --weights: "torchvision:resnet50/V2", "timm:resnet50.a1_in1k"
  std::string model;  // for --model
  std::string file;   // torchvision: file "resnet50-11ad3fa6.pth"; timm: repository "timm/NAME.TAG"
  double top1, top5;  // published accuracy on ImageNet's validation images, in percent
  // The preprocessing with which top1 and top5 were measured. size: image size in pixels. resize:
  // short side before the center crop, in pixels. bicubic: resize filter. mean_and_std: one number
  // that is the mean and also the standard deviation of each channel (0: ImageNet's values).
  int64_t size, resize;
  bool bicubic;
  double mean_and_std;
  double megabytes;     // published size of the file; 0: unknown. See file_megabytes()
  std::string license;  // SPDX identifier of the publishing package's license

  bool is_torchvision() const { return name.starts_with("torchvision:"); }
};

// All rows, in the order of `shoal weights`: by publisher, then by model. A torchvision name
// without a version refers to the newest version, which is the model's last row. A timm name
// without a tag refers to the model's first row.
const std::vector<KnownWeights>& known_weights();

// Returns the size of the file in megabytes (10^6 bytes). If it is unknown (timm), estimates it as
// the size of a safetensors file with the network's tensors in float32. The error is at most 1 %.
double file_megabytes(const KnownWeights& weights);

}  // namespace shoal::app
