#include "data/pack/check_dataset.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <latch>
#include <map>

#include "tests/data/support.h"

using namespace shoal::data;
using Catch::Contains;
using Counts = std::map<std::string, int64_t>;

namespace {

DatasetCheck check_of(std::vector<Bytes> images) {
  const Fingerprints prints(std::make_shared<MemoryDataset>(std::move(images)),
                            Fingerprints::Of::pixels);
  return check_dataset(prints, 3);
}

DatasetCheck check_golden(const std::vector<std::string>& names) {
  std::vector<Bytes> images;
  for (const std::string& name : names) images.push_back(read_golden("images/" + name));
  return check_of(std::move(images));
}

// With two threads, the first image is decoded later than the third one.
class FirstIsLate : public MemoryDataset {
 public:
  using MemoryDataset::MemoryDataset;
  void read(int64_t sample, Bytes& bytes) const override {
    if (sample == 0) fourth_begins_.wait();
    if (sample == 3) fourth_begins_.count_down();
    MemoryDataset::read(sample, bytes);
  }

 private:
  mutable std::latch fourth_begins_{1};
};

void insert(Bytes& bytes, size_t at, const Bytes& more) {
  bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
}

}  // namespace

TEST_CASE("images are counted by format, gray and CMYK") {
  // Pillow reports these modes: grey.* L, grey_alpha.png LA, cmyk.jpg CMYK. Gray images are counted
  // only among JPEGs and PNGs.
  const DatasetCheck check =
      check_golden({"baseline_420.jpg", "baseline_444.jpg", "restart.jpg", "progressive.jpg",
                    "cmyk.jpg", "grey.jpg", "rgb.png", "palette.png", "grey.png", "grey_alpha.png",
                    "lossless.webp", "lzw.tiff", "rgb.bmp", "grey.pgm", "one_bit.pbm"});
  CHECK(check.damaged.empty());
  CHECK(check.formats == Counts{{"baseline JPEG", 5},
                                {"progressive JPEG", 1},
                                {"PNG", 4},
                                {"WebP", 1},
                                {"TIFF", 1},
                                {"BMP", 1},
                                {"PNM", 2}});
  CHECK(check.gray == 3);
  CHECK(check.cmyk == 1);
}

TEST_CASE("the format of a JPEG does not depend on bytes inside or between its segments") {
  Bytes bytes = read_golden("images/grey.jpg");
  // Inserts a copy of the Huffman tables before the frame. Their marker C4 lies within the range of
  // the frame markers, C0 to CF, but must not be mistaken for one.
  const Bytes mark = {0xff, 0xc4};
  const auto tables = std::search(bytes.begin(), bytes.end(), mark.begin(), mark.end());
  REQUIRE(tables + 4 < bytes.end());
  const auto length = 2 + (tables[2] << 8 | tables[3]);
  insert(bytes, 2, Bytes(tables, tables + length));
  // A comment that looks like a progressive frame header, followed by stray bytes and a fill byte.
  insert(
      bytes, 2,
      {0xff, 0xfe, 0x00, 0x0c, 0xff, 0xc2, 0x00, 0x0b, 8, 0, 1, 0, 1, 3, 0xff, 0x00, 0x12, 0xff});
  const DatasetCheck check = check_of({bytes});
  REQUIRE(check.damaged.empty());
  CHECK(check.formats == Counts{{"baseline JPEG", 1}});
  CHECK(check.gray == 1);
}

TEST_CASE("smallest, median and largest image are found by number of pixels") {
  std::vector<Bytes> images;
  for (const Size size : {Size{100, 10}, Size{30, 30}, Size{9, 200}, Size{64, 48}, Size{50, 50}})
    images.push_back(made_jpeg(1, size));
  images.emplace_back();  // damaged images have no size
  const DatasetCheck check = check_of(images);
  const auto is = [](const Size& a, const Size& b) {
    return a.width == b.width && a.height == b.height;
  };
  CHECK(is(check.smallest, {30, 30}));
  CHECK(is(check.median, {9, 200}));
  CHECK(is(check.largest, {64, 48}));
}

TEST_CASE("damaged images are named in their order with reasons, and the others get a hash") {
  const Bytes whole = made_jpeg(7, {400, 300});
  Bytes cut = whole, text = {'h', 'e', 'l', 'l', 'o'};
  Bytes cut_progressive = read_golden("images/progressive.jpg");
  Bytes cut_png = read_golden("images/rgb.png");
  cut.resize(cut.size() * 3 / 4);
  cut_progressive.resize(cut_progressive.size() * 3 / 4);
  cut_png.resize(cut_png.size() / 2);
  const Fingerprints prints(std::make_shared<FirstIsLate>(std::vector<Bytes>{
                                cut, whole, {}, text, cut_progressive, cut_png, whole}),
                            Fingerprints::Of::pixels);
  const DatasetCheck check = check_dataset(prints, 2);
  std::vector<int64_t> samples;
  for (const DamagedSample& damaged : check.damaged) samples.push_back(damaged.sample);
  REQUIRE(samples == std::vector<int64_t>{0, 2, 3, 4, 5});
  CHECK_THAT(check.damaged[0].reason, Contains("JPEG"));
  CHECK_THAT(check.damaged[1].reason, Contains("empty"));
  CHECK_THAT(check.damaged[2].reason, Contains("not a JPEG"));
  CHECK_THAT(check.damaged[3].reason, Contains("JPEG"));
  CHECK(check.formats == Counts{{"baseline JPEG", 2}});
  CHECK(prints.of(1) != 0);
  CHECK(prints.of(1) == prints.of(6));
  for (const int64_t sample : samples) CHECK(prints.of(sample) == 0);

  const DatasetCheck none = check_of({text});
  CHECK((none.damaged.size() == 1 && none.formats.empty() && none.largest.width == 0));
}

TEST_CASE("an error that concerns more than one image ends the check") {
  const auto dataset = made_dataset(20);
  dataset->unreadable = 13;
  const Fingerprints prints(dataset, Fingerprints::Of::pixels);
  CHECK_THROWS_WITH(check_dataset(prints, 4), Contains("image 13"));
}

TEST_CASE("the progress of a check is reported every 100 images, in order") {
  const Fingerprints prints(made_dataset(250), Fingerprints::Of::pixels);
  std::vector<int64_t> calls;
  check_dataset(prints, 4, [&](int64_t done) { calls.push_back(done); });
  CHECK(calls == std::vector<int64_t>{100, 200});
}
