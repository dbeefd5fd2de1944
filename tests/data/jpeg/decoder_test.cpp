#include "data/jpeg/decoder.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "data/errors.h"
#include "data/random.h"
#include "tests/data/jpeg/coefficients.h"
#include "tests/data/support.h"

using namespace shoal::data;

namespace {

const char* const kFiles[] = {"baseline_444.jpg", "baseline_422.jpg", "baseline_420.jpg",
                              "progressive.jpg",  "restart.jpg",      "grey.jpg",
                              "cmyk.jpg"};

Bytes cut(const Bytes& whole, const Size& size, const Box& box) {
  Bytes part;
  for (int64_t y = box.top; y < box.top + box.height; ++y) {
    const auto row = whole.begin() + 3 * (y * size.width + box.left);
    part.insert(part.end(), row, row + 3 * box.width);
  }
  return part;
}

}  // namespace

TEST_CASE("a part of an image has the pixels of the whole image for every chroma subsampling",
          "[single]") {
  KeyedRandom random(9);
  JpegDecoder decoder;
  std::vector<Bytes> files;
  for (const char* name : kFiles) files.push_back(read_golden(std::string("images/") + name));
  const Bytes photo = formula_image({211, 157});
  files.push_back(encode_jpeg(photo.data(), {211, 157}, 90, true));
  files.push_back(encode_jpeg(photo.data(), {211, 157}, 95, false));
  for (const Bytes& file : files) {
    const Size size = decoder.open(file);
    const Bytes whole = read_box(decoder, file, {0, 0, size.width, size.height});
    for (int i = 0; i < 60; ++i) {
      Box box;
      box.width = 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(size.width)));
      box.height = 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(size.height)));
      box.left =
          static_cast<int64_t>(random.below(static_cast<uint64_t>(size.width - box.width + 1)));
      box.top =
          static_cast<int64_t>(random.below(static_cast<uint64_t>(size.height - box.height + 1)));
      REQUIRE(read_box(decoder, file, box) == cut(whole, size, box));
    }
  }
}

TEST_CASE("a file cut short anywhere is damaged, even if the requested part is complete",
          "[single]") {
  JpegDecoder decoder;
  for (const char* name : kFiles) {
    const Bytes file = read_golden(std::string("images/") + name);
    const Size size = decoder.open(file);
    for (size_t i = 0; i < 200; ++i) {
      const Bytes head(file.begin(),
                       file.begin() + static_cast<int64_t>((file.size() - 1) * i / 199));
      INFO(name << ", " << head.size() << " of " << file.size() << " bytes");
      CHECK_THROWS_AS(read_box(decoder, head, {0, 0, size.width, size.height}), DamagedImage);
      CHECK_THROWS_AS(read_box(decoder, head, {0, 0, 4, 4}), DamagedImage);
    }
    CHECK_NOTHROW(
        read_box(decoder, file, {0, 0, size.width, size.height}));  // works again after the errors
  }
}

TEST_CASE("bytes after the end of a JPEG and between its segments are ignored", "[single]") {
  JpegDecoder decoder;
  Bytes file = read_golden("images/baseline_420.jpg");
  const Bytes clean = read_box(decoder, file, {0, 0, 67, 45});
  file.insert(file.end(), 300, 0);
  CHECK(read_box(decoder, file, {0, 0, 67, 45}) == clean);
  const uint8_t stray[] = {1, 2, 3};
  file.insert(file.begin() + 2, std::begin(stray), std::end(stray));  // before the first segment
  CHECK(read_box(decoder, file, {0, 0, 67, 45}) == clean);
}

TEST_CASE("changed bytes never crash the decoder and often count as damage", "[single]") {
  KeyedRandom random(4);
  JpegDecoder decoder;
  for (const char* name : kFiles) {
    const Bytes file = read_golden(std::string("images/") + name);
    int damaged = 0;
    for (int i = 0; i < 300; ++i) {
      Bytes broken = file;
      for (int k = 0; k < 4; ++k)
        broken[random.below(broken.size())] = static_cast<uint8_t>(random.next());
      try {
        const Size size = decoder.open(broken);
        if (size.width * size.height > 1'000'000) continue;
        read_box(decoder, broken, {0, 0, size.width, size.height});
      } catch (const DamagedImage&) {
        ++damaged;
      }
    }
    INFO(name << ": " << damaged << " of 300");
    CHECK(damaged > 60);  // changed pixels and tables often give a valid file
  }
}

TEST_CASE("a huge size in the header is refused before memory is allocated", "[single]") {
  JpegDecoder decoder;
  Bytes file = read_golden("images/baseline_444.jpg");
  for (size_t i = 0; i + 8 < file.size(); ++i)
    if (file[i] == 0xff && file[i + 1] == 0xc0) {
      for (size_t k = 5; k < 9; ++k) file[i + k] = 0xfd;  // 65021 x 65021
      break;
    }
  CHECK_THROWS_WITH(decoder.open(file), Catch::Contains("out of bounds"));
}

namespace {

// Files that our own decoder reads: several subsamplings, qualities, and sizes around multiples of
// an MCU.
std::vector<Bytes> own_files() {
  std::vector<Bytes> files;
  for (const char* name : {"baseline_444.jpg", "baseline_422.jpg", "baseline_420.jpg", "grey.jpg"})
    files.push_back(read_golden(std::string("images/") + name));
  for (const Size size : {Size{211, 157}, Size{64, 64}, Size{65, 33}, Size{16, 17}, Size{1, 1},
                          Size{2, 3}, Size{5, 1}, Size{500, 375}}) {
    const Bytes photo = formula_image(size);
    for (const int quality : {20, 90, 100})
      for (const bool subsample : {false, true})
        if (!subsample || size.width > 4)  // our decoder refuses subsampled images up to width 4
          files.push_back(encode_jpeg(photo.data(), size, quality, subsample));
  }
  return files;
}

Box random_box(KeyedRandom& random, const Size& size) {
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random.below(static_cast<uint64_t>(n)));
  };
  Box box;
  box.width = 1 + below(size.width);
  box.height = 1 + below(size.height);
  box.left = below(size.width - box.width + 1);
  box.top = below(size.height - box.height + 1);
  return box;
}

// Decodes the box with our own decoder. The result is empty if the decoder rejects the file, which
// is then left to libjpeg-turbo.
Bytes read_own(jpeg::BaselineDecoder& decoder, const Bytes& file, const Box& box,
               jpeg::SeekIndex* index) {
  if (!decoder.open(file) || !decoder.start(box, index)) return {};
  Bytes pixels;
  append_rows([&] { return decoder.next(64); }, box.width, pixels);
  return pixels;
}

}  // namespace

TEST_CASE(
    "our own decoder gives libjpeg-turbo's pixels without an index, with one and while building "
    "one",
    "[single][slow]") {
  TurboDecoder turbo;
  for (const Isa isa : supported_isas()) {
    KeyedRandom random(12);
    jpeg::BaselineDecoder decoder(isa);
    for (const Bytes& file : own_files()) {
      REQUIRE(decoder.open(file));
      const Size size = decoder.size();
      jpeg::SeekIndex growing, whole;
      REQUIRE(decoder.complete(whole));
      CHECK(whole.size() == static_cast<size_t>(jpeg::Segments(*jpeg::read_header(file)).total()));
      for (int i = 0; i < 20; ++i) {
        const Box box = i == 0 ? Box{0, 0, size.width, size.height} : random_box(random, size);
        const Bytes expected = read_box(turbo, file, box);
        INFO(size.width << "x" << size.height << ", " << box.left << "," << box.top << " "
                        << box.width << "x" << box.height);
        REQUIRE((read_own(decoder, file, box, nullptr) == expected));
        REQUIRE((read_own(decoder, file, box, &whole) == expected));
        REQUIRE((read_own(decoder, file, box, &growing) == expected));
        REQUIRE(growing.size() <= whole.size());
        REQUIRE(std::equal(growing.begin(), growing.end(), whole.begin()));
      }
    }
  }
}

namespace {

Bytes noise_image(const Size& size, KeyedRandom& random) {
  Bytes pixels(static_cast<size_t>(3 * size.width * size.height));
  for (uint8_t& value : pixels) value = static_cast<uint8_t>(random.next());
  return pixels;
}

}  // namespace

TEST_CASE("small noise images have libjpeg-turbo's pixels or are left to libjpeg-turbo",
          "[single]") {
  TurboDecoder turbo;
  KeyedRandom random(7);
  for (const Isa isa : supported_isas()) {
    jpeg::BaselineDecoder decoder(isa);
    for (int64_t width = 1; width <= 20; ++width)
      for (const int64_t height : {1, 2, 3, 4, 5, 8, 9, 17}) {
        const Size size{width, height};
        const Bytes pixels = noise_image(size, random);
        for (const bool subsample : {false, true}) {
          const Bytes file = encode_jpeg(pixels.data(), size, 95, subsample);
          const Box whole{0, 0, width, height};
          const Bytes own = read_own(decoder, file, whole, nullptr);
          INFO(width << "x" << height << (subsample ? ", 4:2:0" : ""));
          REQUIRE(own.empty() == (subsample && width <= 4));
          if (!own.empty()) REQUIRE((own == read_box(turbo, file, whole)));
        }
      }
  }
}

TEST_CASE("with a changed header, our decoder gives libjpeg-turbo's pixels or leaves it the file",
          "[single]") {
  TurboDecoder turbo;
  jpeg::BaselineDecoder decoder;
  KeyedRandom random(8);
  const Size size{21, 19};
  const Bytes pixels = noise_image(size, random);
  for (const bool subsample : {false, true}) {
    Bytes file = encode_jpeg(pixels.data(), size, 90, subsample);
    const uint8_t adobe[] = {0xff, 0xee, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 1};
    file.insert(file.begin() + 20, std::begin(adobe), std::end(adobe));  // after APP0
    const size_t scan = jpeg::read_header(file)->scan;
    int64_t ours = 0;
    size_t table_end = 0;
    for (size_t at = 2; at < scan; ++at) {
      // Skip the tables: changed ones give impossible coefficients, for which the two decoders may
      // differ.
      if (file[at] == 0xff && (file[at + 1] == 0xdb || file[at + 1] == 0xc4))
        table_end = at + 2 + (size_t{file[at + 2]} << 8 | file[at + 3]);
      if (at < table_end) continue;
      for (int value = 0; value < 256; value += 1 + static_cast<int>(random.below(4))) {
        Bytes changed = file;
        changed[at] = static_cast<uint8_t>(value);
        if (!decoder.open(changed)) continue;
        if (decoder.size().width * decoder.size().height > 4096) continue;
        const Box whole{0, 0, decoder.size().width, decoder.size().height};
        const Bytes own = read_own(decoder, changed, whole, nullptr);
        if (own.empty()) continue;
        ++ours;
        INFO("byte " << at << " is " << value);
        REQUIRE((own == read_box(turbo, changed, whole)));
      }
    }
    CHECK(ours > 1000);

    // An APP0 segment that is too short is not JFIF. So the Adobe marker applies, and selects RGB.
    file[35] = 0;  // the Adobe marker's color transform
    file.erase(file.begin() + 11, file.begin() + 20);
    file[5] = 7;
    const Box whole{0, 0, size.width, size.height};
    CHECK(read_own(decoder, file, whole, nullptr).empty());
    CHECK(read_box(turbo, file, whole).size() == pixels.size());
  }
}

TEST_CASE("every instruction set gives the same colors and writes only its row", "[single]") {
  constexpr size_t kSlack = 64;  // bytes after a row that kernels may read or overwrite
  KeyedRandom random(4);
  Bytes samples[3];
  for (Bytes& bytes : samples) {
    bytes.resize(200 + kSlack);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
  }
  const auto convert = [&](Isa isa, size_t count, bool gray) {
    Bytes out(3 * count + 2 * kSlack, 77);
    const jpeg::Kernels& kernels = jpeg::kernels(isa);
    const auto pixels = static_cast<int64_t>(count);
    if (gray)
      kernels.gray_to_rgb(samples[0].data(), out.data(), pixels);
    else
      kernels.to_rgb(samples[0].data(), samples[1].data(), samples[2].data(), out.data(), pixels);
    CHECK(std::all_of(out.end() - kSlack, out.end(), [](uint8_t byte) { return byte == 77; }));
    out.resize(3 * count);
    return out;
  };
  for (size_t count = 1; count <= 200; ++count)
    for (const bool gray : {false, true})
      for (const Isa isa : supported_isas())
        REQUIRE(convert(isa, count, gray) == convert(Isa::portable, count, gray));
}

TEST_CASE("an index of another file is detected and ignored", "[single]") {
  const Bytes photo = formula_image({211, 157}), other = formula_image({214, 160});
  const Bytes file = encode_jpeg(photo.data(), {211, 157}, 90, true);
  const Bytes stale = encode_jpeg(other.data(), {211, 157}, 80, true);
  TurboDecoder turbo;
  jpeg::BaselineDecoder decoder;
  KeyedRandom random(3);
  jpeg::SeekIndex theirs;
  REQUIRE(decoder.open(stale));
  REQUIRE(decoder.complete(theirs));
  const Box all{0, 0, 211, 157};
  jpeg::SeekIndex index = theirs;
  CHECK(read_own(decoder, file, all, &index) == read_box(turbo, file, all));
  for (int i = 0; i < 200; ++i) {  // random indexes must not crash the decoder
    index = theirs;
    for (jpeg::SeekPoint& point : index) {
      point.byte = static_cast<uint32_t>(random.below(2 * file.size()));
      point.bit = static_cast<uint16_t>(random.below(9));
    }
    read_own(decoder, file, random_box(random, {211, 157}), &index);
  }
}

TEST_CASE("our own decoder reads changed bytes like libjpeg-turbo, or leaves them to it",
          "[single][slow]") {
  TurboDecoder turbo;
  for (const Isa isa : supported_isas()) {
    KeyedRandom random(5);
    jpeg::BaselineDecoder decoder(isa);
    int taken = 0;
    for (const Bytes& file : own_files()) {
      for (int i = 0; i < 40; ++i) {
        Bytes broken = file;
        for (int k = 0; k < 1 + i % 4; ++k)
          broken[random.below(broken.size())] = static_cast<uint8_t>(random.next());
        if (!decoder.open(broken)) continue;
        const Size size = decoder.size();
        if (size.width * size.height > 1'000'000) continue;
        const Box box{0, 0, size.width, size.height};
        const Bytes pixels = read_own(decoder, broken, box, nullptr);
        if (pixels.empty()) continue;
        ++taken;
        INFO(size.width << "x" << size.height << ", attempt " << i);
        if (read_box(turbo, broken, box) == pixels) continue;  // must not throw
        // Pixels may differ only for impossible coefficients, which overflow 16 bits at different
        // steps in the two decoders.
        CHECK(largest_coefficient(broken) > 8300);
      }
    }
    CHECK(taken > 100);
  }
}

TEST_CASE("other kinds of JPEG are left to libjpeg-turbo", "[single]") {
  jpeg::BaselineDecoder decoder;
  for (const char* name : {"progressive.jpg", "restart.jpg", "cmyk.jpg"})
    CHECK_FALSE(decoder.open(read_golden(std::string("images/") + name)));
  CHECK_FALSE(decoder.open({}));
}
