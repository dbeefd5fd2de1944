// Fuzzes our JPEG decoder. All instruction sets, with and without a seek index, must give the same
// pixels or all fail. Input: 4 bytes that choose the part of the image to decode, then the file.
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <span>
#include <vector>

#include "data/jpeg/baseline.h"
#include "tests/data/rows.h"

using namespace shoal::data;

namespace {

// Room for several segments and rows of MCUs, but small for speed.
constexpr int64_t kMaxPixels = 1 << 12;

bool pixels_of(jpeg::BaselineDecoder& decoder, const Box& box, jpeg::SeekIndex* index,
               std::vector<uint8_t>& pixels) {
  pixels.clear();
  if (!decoder.start(box, index)) return false;
  append_rows([&] { return decoder.next(64); }, box.width, pixels);
  return true;
}

void require(bool ok) {
  if (!ok) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static jpeg::BaselineDecoder best;
  static std::deque<jpeg::BaselineDecoder> others = [] {
    std::deque<jpeg::BaselineDecoder> all;
    for (const Isa isa : kIsas)
      if (supported(isa) && isa != best_isa()) all.emplace_back(isa);
    return all;
  }();
  static std::vector<uint8_t> a, b;
  if (size < 4) return 0;
  const std::span<const uint8_t> file(data + 4, size - 4);
  const bool opened = best.open(file);
  for (jpeg::BaselineDecoder& other : others) require(opened == other.open(file));
  if (!opened || best.size().width > kMaxPixels / best.size().height) return 0;
  const Size image = best.size();
  const auto part = [](int64_t whole, int share) { return whole * share / 256; };
  Box box;
  box.left = part(image.width, data[0]);
  box.top = part(image.height, data[1]);
  box.width = 1 + part(image.width - box.left - 1, data[2]);
  box.height = 1 + part(image.height - box.top - 1, data[3]);
  jpeg::SeekIndex index;
  const bool decoded = pixels_of(best, box, &index, a);
  for (jpeg::BaselineDecoder& other : others) {
    jpeg::SeekIndex theirs;
    require(decoded == pixels_of(other, box, &theirs, b));
    require(a == b && index == theirs);
  }
  if (!decoded) return 0;
  require(pixels_of(best, box, &index, b) && a == b);   // with the seek index
  require(pixels_of(best, box, nullptr, b) && a == b);  // without it
  best.complete(index);
  return 0;
}
