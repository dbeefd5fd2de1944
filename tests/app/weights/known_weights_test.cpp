// Compares the sizes of timm's files with those that the package safetensors writes
// (tests/golden/scripts/make_weight_names.py).
#include "app/weights/known_weights.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <map>

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
