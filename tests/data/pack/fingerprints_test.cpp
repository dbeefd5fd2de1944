#include "data/pack/fingerprints.h"

#include <catch2/catch.hpp>

#include "data/sources/images.h"
#include "tests/data/sources/support.h"

using namespace shoal::data;
using Pairs = std::vector<std::pair<int64_t, int64_t>>;
using Of = Fingerprints::Of;

namespace {

std::string golden(const std::string& name) {
  return std::string(SHOAL_SOURCE_DIR "/tests/golden/images/") + name;
}

Pairs shared(const std::vector<std::string>& first, const std::vector<std::string>& second, Of of) {
  const Fingerprints one(open_images(first, {}), of), other(open_images(second, {}), of);
  for (const Fingerprints* each : {&one, &other}) each->complete(2);
  if (of == Of::first_rows) Fingerprints::hash_pixels_of_shared(one, other, 2);
  return shared_images(one, other);
}

// Returns a PPM of 40 rows. Only the last row depends on `last`.
std::string tall_image(char last) {
  return "P6\n2 40\n255\n" + std::string(size_t{39 * 6}, 'x') + std::string(6, last);
}

}  // namespace

TEST_CASE("images that were stored again without loss are found") {
  const std::vector<std::string> first = {golden("rgb.png"), golden("grey.png")};
  const std::vector<std::string> second = {golden("baseline_444.jpg"), golden("rgb.bmp"),
                                           golden("grey.png"), golden("grey.bmp")};
  const Pairs expected = {{0, 1}, {1, 2}, {1, 3}};
  CHECK(shared(first, second, Of::first_rows) == expected);
  CHECK(shared(first, second, Of::pixels) == expected);
}

TEST_CASE("images with equal first rows are compared by all pixels") {
  const TempFolder folder;
  for (const char last : {'a', 'b', 'c', 'd'})
    folder.write(std::string(1, last) + ".ppm", tall_image(last));
  folder.write("cut.ppm", tall_image('b').substr(0, 240));
  const auto paths = [&](const std::vector<std::string>& names) {
    std::vector<std::string> all;
    for (const std::string& name : names) all.push_back(folder / (name + ".ppm"));
    return all;
  };
  CHECK(shared(paths({"a", "b", "cut"}), paths({"c", "b", "cut", "d"}), Of::first_rows) ==
        Pairs{{1, 1}});
}

TEST_CASE("damaged images equal no other image, and read() stores the hash of an image") {
  const TempFolder folder;
  folder.write("bad.jpg", "no image");
  const std::vector<std::string> sources = {folder / "bad.jpg", folder / "none.jpg",
                                            golden("grey.png")};
  for (const Of of : {Of::first_rows, Of::pixels})
    CHECK(shared(sources, sources, of) == Pairs{{2, 2}});

  const Fingerprints prints(open_images({golden("grey.png")}, {}), Of::first_rows);
  CHECK(prints.of(0) == 0);
  std::vector<uint8_t> bytes;
  prints.read(0, bytes);
  const uint64_t print = prints.of(0);
  CHECK(print != 0);
  prints.complete(1);
  CHECK(prints.of(0) == print);
}
