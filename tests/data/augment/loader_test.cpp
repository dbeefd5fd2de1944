#include "data/loader/loader.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <set>

#include "base/hash.h"
#include "tests/data/support.h"

using namespace shoal::data;

namespace {

constexpr int64_t kSide = 24, kBytes = kSide * kSide * 3, kGlobal = 12, kImages = 96;

// Options with every kind of random augmentation.
LoaderOptions everything() {
  LoaderOptions options;
  options.seed = 5;
  options.batch_size = kGlobal;
  options.transform.size = kSide;
  options.transform.interpolation = Interpolation::random;
  options.transform.augment.policy = "rand-m9-mstd0.5-inc1";
  options.transform.augment.color_jitter = "0.3,0.3,0.3,0.1";
  options.transform.augment.grayscale = 0.2;
  options.transform.augment.gaussian_blur = 0.2;
  options.transform.augment.solarize = 0.2;
  options.mix.mixup = 0.4;
  options.mix.cutmix = 1;
  options.mix.mix = 0.8;
  options.mix.mode = MixMode::batch;
  options.mix.group = kGlobal;
  options.mix.erase = 0.5;
  options.mix.erase_fill = EraseFill::color;
  options.mix.erase_count = 3;
  options.repeats = 3;
  return options;
}

struct Made {
  Bytes pixels;
  Row row;
};

// Returns the image made for each position of epoch 2.
std::map<int64_t, Made> made(const std::shared_ptr<MemoryDataset>& data,
                             const LoaderOptions& options, int64_t first_batch = 0) {
  Loader loader(data, options);
  loader.start_epoch(2, first_batch);
  std::map<int64_t, Made> all;
  while (const Batch* batch = loader.next())
    for (int64_t i = 0; i < batch->count; ++i) {
      const uint8_t* const pixels = batch->images + i * kBytes;
      all[batch->first_position + i] = {Bytes(pixels, pixels + kBytes),
                                        batch->rows[static_cast<size_t>(i)]};
    }
  return all;
}

void check_same(const std::map<int64_t, Made>& part, const std::map<int64_t, Made>& whole) {
  for (const auto& [position, one] : part) {
    INFO(position);
    const Made& other = whole.at(position);
    REQUIRE(one.pixels == other.pixels);
    REQUIRE(one.row.label == other.row.label);
    REQUIRE(one.row.key == other.row.key);
    REQUIRE(one.row.lambda == other.row.lambda);
    REQUIRE(one.row.blend == other.row.blend);
    REQUIRE(std::equal(one.row.box, one.row.box + 4, other.row.box));
    REQUIRE(one.row.erased == other.row.erased);
    for (int k = 0; k < one.row.erased; ++k)
      REQUIRE(std::equal(one.row.erase[k], one.row.erase[k] + 4, other.row.erase[k]));
  }
}

}  // namespace

TEST_CASE("augmented images do not depend on ranks, threads, or where an epoch is resumed") {
  const auto data = made_dataset(kImages);
  const auto whole = made(data, everything());
  REQUIRE(whole.size() == kImages);
  for (const int64_t world : {2, 3}) {
    size_t seen = 0;
    for (int64_t rank = 0; rank < world; ++rank) {
      LoaderOptions options = everything();
      options.world_size = world;
      options.rank = rank;
      options.batch_size = kGlobal / world;
      options.threads = 1 + static_cast<int>(rank);
      const auto part = made(data, options);
      check_same(part, whole);
      seen += part.size();
    }
    CHECK(seen == kImages);
  }
  const auto tail = made(data, everything(), 5);
  CHECK(tail.size() == kImages - 5 * kGlobal);
  check_same(tail, whole);
}

TEST_CASE("a repeated image looks different each time") {
  const auto data = made_dataset(kImages);
  LoaderOptions options = everything();
  options.transform.scale_min = options.transform.scale_max = 1;
  std::set<uint64_t> looks;
  for (const auto& [position, one] : made(data, options))
    looks.insert(shoal::hash_bytes(one.pixels.data(), kBytes));
  CHECK(looks.size() > kImages * 9 / 10);  // a few may be equal by chance
}

TEST_CASE(
    "batches have the views of an image in consecutive rows; all rows of an unreadable image are "
    "zero") {
  const auto data = made_dataset(5);
  LoaderOptions options;
  options.train = false;
  options.batch_size = 4;
  options.transform.eval_resize = 32;
  options.transform.eval_size = kSide;
  std::vector<Bytes> centers;
  for (const Views views : {Views::none, Views::ten}) {
    options.transform.eval_views = views;
    Loader loader(data, options);
    loader.start_epoch(0);
    int64_t position = 0;
    while (const Batch* batch = loader.next()) {
      REQUIRE(batch->views == count_of(views));
      for (int64_t i = 0; i < batch->count; ++i, ++position) {
        const uint8_t* const row = batch->images + i * batch->views * kBytes;
        if (views == Views::none)
          centers.emplace_back(row, row + kBytes);
        else
          CHECK(centers.at(static_cast<size_t>(position)) == Bytes(row, row + kBytes));
      }
    }
    CHECK(position == 5);
  }
  data->images[1].resize(100);
  Loader loader(data, options);
  loader.start_epoch(0);
  const Batch* const batch = loader.next();
  REQUIRE(batch->rows[1].unreadable);
  const Bytes row(batch->images + 10 * kBytes, batch->images + 20 * kBytes);
  CHECK(std::all_of(row.begin(), row.end(), [](uint8_t x) { return x == 0; }));
}
