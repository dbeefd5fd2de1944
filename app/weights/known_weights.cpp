// Tables of known weights. Sources: torchvision 0.26 (torchvision/models) and timm 1.0.31 (default
// configurations and results/results-imagenet.csv).
//
// timm's table contains only weights for networks that shoal computes exactly as timm does. It
// lacks tf_efficientnet_b*, because shoal's B0 to B7 do not use their padding (TensorFlow's SAME).
// It also omits timm's copies of torchvision's weights.
#include "app/weights/known_weights.h"

#include "base/format/grouped.h"
#include "models/catalogue.h"

namespace shoal::app {
namespace {

struct TorchvisionRow {
  const char *model, *version, *file;
  double top1, top5;
  int size, resize;
  bool bicubic;
  double megabytes;
};

constexpr TorchvisionRow kTorchvision[] = {
    {"efficientnet_b0", "V1", "efficientnet_b0_rwightman-7f5810bc.pth", 77.692, 93.532, 224, 256,
     true, 21.4},
    {"efficientnet_b1", "V1", "efficientnet_b1_rwightman-bac287d4.pth", 78.642, 94.186, 240, 256,
     true, 31.6},
    {"efficientnet_b1", "V2", "efficientnet_b1-c27df63c.pth", 79.838, 94.934, 240, 255, false,
     31.6},
    {"efficientnet_b2", "V1", "efficientnet_b2_rwightman-c35c1473.pth", 80.608, 95.31, 288, 288,
     true, 36.9},
    {"efficientnet_b3", "V1", "efficientnet_b3_rwightman-b3899882.pth", 82.008, 96.054, 300, 320,
     true, 49.5},
    {"efficientnet_b4", "V1", "efficientnet_b4_rwightman-23ab8bcd.pth", 83.384, 96.594, 380, 384,
     true, 78.1},
    {"efficientnet_b5", "V1", "efficientnet_b5_lukemelas-1a07897c.pth", 83.444, 96.628, 456, 456,
     true, 122.5},
    {"efficientnet_b6", "V1", "efficientnet_b6_lukemelas-24a108a5.pth", 84.008, 96.916, 528, 528,
     true, 173.4},
    {"efficientnet_b7", "V1", "efficientnet_b7_lukemelas-c5b4e57e.pth", 84.122, 96.908, 600, 600,
     true, 267.0},
    {"efficientnet_v2_s", "V1", "efficientnet_v2_s-dd5fe13b.pth", 84.228, 96.878, 384, 384, false,
     86.7},
    {"efficientnet_v2_m", "V1", "efficientnet_v2_m-dc08266a.pth", 85.112, 97.156, 480, 480, false,
     218.1},
    {"efficientnet_v2_l", "V1", "efficientnet_v2_l-59c71312.pth", 85.808, 97.788, 480, 480, true,
     476.7},
    {"mobilenet_v2", "V1", "mobilenet_v2-b0353104.pth", 71.878, 90.286, 224, 256, false, 14.2},
    {"mobilenet_v2", "V2", "mobilenet_v2-7ebf99e0.pth", 72.154, 90.822, 224, 232, false, 14.3},
    {"mobilenet_v3_large", "V1", "mobilenet_v3_large-8738ca79.pth", 74.042, 91.34, 224, 256, false,
     22.1},
    {"mobilenet_v3_large", "V2", "mobilenet_v3_large-5c1a4163.pth", 75.274, 92.566, 224, 232, false,
     22.1},
    {"mobilenet_v3_small", "V1", "mobilenet_v3_small-047dcff4.pth", 67.668, 87.402, 224, 256, false,
     10.3},
    {"resnet18", "V1", "resnet18-f37072fd.pth", 69.758, 89.078, 224, 256, false, 46.8},
    {"resnet34", "V1", "resnet34-b627a593.pth", 73.314, 91.42, 224, 256, false, 87.3},
    {"resnet50", "V1", "resnet50-0676ba61.pth", 76.13, 92.862, 224, 256, false, 102.5},
    {"resnet50", "V2", "resnet50-11ad3fa6.pth", 80.858, 95.434, 224, 232, false, 102.5},
    {"resnet101", "V1", "resnet101-63fe2227.pth", 77.374, 93.546, 224, 256, false, 178.8},
    {"resnet101", "V2", "resnet101-cd907fc2.pth", 81.886, 95.78, 224, 232, false, 178.8},
    {"resnet152", "V1", "resnet152-394f9c45.pth", 78.312, 94.046, 224, 256, false, 241.6},
    {"resnet152", "V2", "resnet152-f82ba261.pth", 82.284, 96.002, 224, 232, false, 241.7},
};

constexpr const char* kApache = "Apache-2.0";

struct TimmRow {
  const char *model, *tag;
  double top1, top5;
  int size, resize;
  bool bicubic = true;
  const char* license = kApache;
  const char* name = nullptr;  // the model's name in timm, if it differs from ours
  double mean_and_std = 0;
};

constexpr TimmRow kTimm[] = {
    {"efficientnet_b0", "ra_in1k", 77.698, 93.538, 224, 256},
    {"efficientnet_b1", "ft_in1k", 77.592, 93.636, 224, 256},
    {"efficientnet_b2", "ra_in1k", 79.324, 94.582, 256, 292},
    {"efficientnet_b3", "ra2_in1k", 81.472, 95.696, 288, 329},
    {"efficientnet_b4", "ra2_in1k", 82.658, 96.134, 320, 365},
    {"efficientnet_b5", "sw_in12k_ft_in1k", 85.894, 97.742, 448, 448},
    {"efficientnet_lite0", "in1k", 74.846, 92.18, 224, 256, true, kApache, "tf_efficientnet_lite0",
     0.5},
    {"efficientnet_lite1", "in1k", 76.674, 93.232, 240, 272, true, kApache, "tf_efficientnet_lite1",
     0.5},
    {"efficientnet_lite2", "in1k", 77.47, 93.756, 260, 292, true, kApache, "tf_efficientnet_lite2",
     0.5},
    {"efficientnet_lite3", "in1k", 79.808, 94.908, 300, 331, false, kApache,
     "tf_efficientnet_lite3", 0.5},
    {"efficientnet_lite4", "in1k", 81.54, 95.668, 380, 413, false, kApache, "tf_efficientnet_lite4",
     0.5},
    {"mobilenet_v2", "ra_in1k", 72.91, 91.0, 224, 256, true, kApache, "mobilenetv2_100"},
    {"mobilenet_v2_050", "lamb_in1k", 65.928, 86.114, 224, 256, true, kApache, "mobilenetv2_050"},
    {"mobilenet_v2_110d", "ra_in1k", 75.056, 92.186, 224, 256, true, kApache, "mobilenetv2_110d"},
    {"mobilenet_v2_120d", "ra_in1k", 77.3, 93.516, 224, 256, true, kApache, "mobilenetv2_120d"},
    {"mobilenet_v2_140", "ra_in1k", 76.528, 93.008, 224, 256, true, kApache, "mobilenetv2_140"},
    {"mobilenet_v3_large", "ra_in1k", 75.784, 92.528, 224, 256, true, kApache,
     "mobilenetv3_large_100"},
    {"mobilenet_v3_small", "lamb_in1k", 67.636, 87.638, 224, 256, true, kApache,
     "mobilenetv3_small_100"},
    {"resnet18", "a1_in1k", 71.504, 90.086, 224, 235},
    {"resnet18", "a2_in1k", 70.634, 89.486, 224, 235},
    {"resnet18", "a3_in1k", 65.67, 86.268, 160, 168},
    {"resnet18", "fb_swsl_ig1b_ft_in1k", 73.286, 91.754, 224, 256, false, "CC-BY-NC-4.0"},
    {"resnet18", "gluon_in1k", 70.844, 89.75, 224, 256},
    {"resnet34", "a1_in1k", 76.42, 92.896, 224, 235},
    {"resnet34", "a2_in1k", 75.52, 92.454, 224, 235},
    {"resnet34", "a3_in1k", 70.58, 89.54, 160, 168},
    {"resnet34", "bt_in1k", 75.176, 92.166, 224, 256},
    {"resnet34", "gluon_in1k", 74.574, 91.988, 224, 256},
    {"resnet50", "a1_in1k", 80.382, 94.598, 224, 235},
    {"resnet50", "a1h_in1k", 79.264, 94.498, 176, 195},
    {"resnet50", "a2_in1k", 79.828, 94.56, 224, 235},
    {"resnet50", "a3_in1k", 75.994, 92.494, 160, 168},
    {"resnet50", "b1k_in1k", 79.564, 94.622, 224, 235},
    {"resnet50", "b2k_in1k", 79.388, 94.58, 224, 235},
    {"resnet50", "c1_in1k", 79.766, 94.954, 224, 235},
    {"resnet50", "c2_in1k", 79.868, 94.862, 224, 235},
    {"resnet50", "d_in1k", 79.904, 94.666, 224, 235},
    {"resnet50", "ram_in1k", 79.034, 94.386, 224, 256},
    {"resnet50", "am_in1k", 79.004, 94.392, 224, 256},
    {"resnet50", "ra_in1k", 78.82, 94.314, 224, 256},
    {"resnet50", "bt_in1k", 78.444, 94.274, 224, 256},
    {"resnet50", "fb_swsl_ig1b_ft_in1k", 81.146, 95.98, 224, 256, false, "CC-BY-NC-4.0"},
    {"resnet50", "gluon_in1k", 77.58, 93.704, 224, 256},
    {"resnet101", "a1h_in1k", 81.95, 95.76, 224, 235},
    {"resnet101", "a1_in1k", 81.494, 95.164, 224, 235},
    {"resnet101", "a2_in1k", 81.344, 95.198, 224, 235},
    {"resnet101", "a3_in1k", 77.928, 93.686, 160, 168},
    {"resnet101", "gluon_in1k", 79.306, 94.538, 224, 256},
    {"resnet152", "a1h_in1k", 82.818, 96.124, 224, 235},
    {"resnet152", "a1_in1k", 81.998, 95.294, 224, 235},
    {"resnet152", "a2_in1k", 81.764, 95.27, 224, 235},
    {"resnet152", "a3_in1k", 78.896, 94.14, 160, 168},
    {"resnet152", "gluon_in1k", 79.712, 94.72, 224, 256},
};

std::vector<KnownWeights> all_rows_of_publishers() {
  std::vector<KnownWeights> table;
  for (const TorchvisionRow& row : kTorchvision)
    table.push_back({std::string("torchvision:") + row.model + "/" + row.version, row.model,
                     row.file, row.top1, row.top5, row.size, row.resize, row.bicubic, 0,
                     row.megabytes, "BSD-3-Clause"});
  for (const TimmRow& row : kTimm) {
    const std::string name = std::string(row.name ? row.name : row.model) + "." + row.tag;
    table.push_back({"timm:" + name, row.model, "timm/" + name, row.top1, row.top5, row.size,
                     row.resize, row.bicubic, row.mean_and_std, 0, row.license});
  }
  return table;
}

}  // namespace

const std::vector<KnownWeights>& known_weights() {
  static const std::vector<KnownWeights> table = all_rows_of_publishers();
  return table;
}

double file_megabytes(const KnownWeights& weights) {
  if (weights.megabytes > 0) return weights.megabytes;
  constexpr int64_t kHeader = 100;  // average bytes per tensor in a safetensors header
  models::ModelOptions options;
  options.name = weights.model;
  const models::Network network = models::make_network(options);
  int64_t bytes = 0;
  for (const models::Parameter& parameter : network.parameters)
    bytes += kHeader + parameter.elements() * int64_t{sizeof(float)};
  for (const models::Statistics& layer : network.statistics)  // 3 tensors: mean, variance, counter
    bytes += 3 * kHeader + 2 * layer.channels * int64_t{sizeof(float)} + int64_t{sizeof(int64_t)};
  return megabytes(bytes);
}

}  // namespace shoal::app
