// Compares the file sizes that shoal computes for timm's weights with the sizes of the files that
// the Python package safetensors writes (tests/golden/scripts/make_weight_names.py).
#include "app/weights/known_weights.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <set>

#include "models/catalogue.h"

using namespace shoal::app;

TEST_CASE("the size of each file is known; timm's within 1 %") {
  std::map<std::string, double> golden;  // model → megabytes
  std::ifstream file(SHOAL_SOURCE_DIR "/tests/golden/weight_sizes.txt");
  double bytes = 0;
  for (std::string model; file >> model >> bytes;) golden[model] = bytes / 1e6;
  size_t computed = 0;
  for (const KnownWeights& row : known_weights()) {
    INFO(row.name);
    if (row.is_torchvision()) {
      CHECK(file_megabytes(row) == row.megabytes);
      CHECK(row.megabytes > 0);
    } else {
      CHECK(file_megabytes(row) == Approx(golden.at(row.model)).epsilon(0.01));
      ++computed;
    }
  }
  CHECK(computed > 50);
}

TEST_CASE("networks that torchvision builds under the same name are those with its weights") {
  std::set<std::string> published, built;
  for (const KnownWeights& row : known_weights())
    if (row.is_torchvision()) published.insert(row.model);
  for (const std::string& name : shoal::models::names()) {
    shoal::models::ModelOptions options;
    options.name = name;
    const shoal::models::ModelInfo info = shoal::models::describe(options);
    if (info.torchvision == name) built.insert(name);
    // Only MobileNetV2's names differ: one torchvision function takes the width as an argument.
    if (!info.torchvision.empty() && info.torchvision != name)
      CHECK((info.torchvision == "mobilenet_v2" && info.torchvision_width != 1));
  }
  CHECK(built == published);
}
