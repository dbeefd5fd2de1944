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
  return shared_images(one, other);
}

}  // namespace

TEST_CASE("pixels find images that were stored again without loss, bytes only copies") {
  const std::vector<std::string> first = {golden("rgb.png"), golden("grey.png")};
  const std::vector<std::string> second = {golden("baseline_444.jpg"), golden("rgb.bmp"),
                                           golden("grey.png"), golden("grey.bmp")};
  CHECK(shared(first, second, Of::bytes) == Pairs{{1, 2}});
  CHECK(shared(first, second, Of::pixels) == Pairs{{0, 1}, {1, 2}, {1, 3}});
}

TEST_CASE("damaged images equal no other image, and read() stores the hash of an image") {
  const TempFolder folder;
  folder.write("bad.jpg", "no image");
  const std::vector<std::string> sources = {folder / "bad.jpg", folder / "none.jpg",
                                            golden("grey.png")};
  CHECK(shared(sources, sources, Of::pixels) == Pairs{{2, 2}});

  const Fingerprints prints(open_images({golden("grey.png")}, {}), Of::bytes);
  CHECK(prints.of(0) == 0);
  std::vector<uint8_t> bytes;
  prints.read(0, bytes);
  const uint64_t print = prints.of(0);
  CHECK(print != 0);
  prints.complete(1);
  CHECK(prints.of(0) == print);
}
