#include "data/pack/packer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/hash.h"
#include "data/errors.h"
#include "data/image/raw_pixels.h"
#include "data/jpeg/index_codec.h"
#include "data/jpeg/turbo.h"
#include "data/random.h"

namespace shoal::data {
namespace {

constexpr int kQualityOfReduced = 90;

double unit(uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace

void Packer::make(const Dataset& source, int64_t sample, Result& out) {
  out.damage.clear();
  try {
    source.read(sample, out.bytes);
    const Size size = reader_.open(out.bytes);
    out.entry = {};
    out.entry.label = source.label(sample);
    const bool raw = options_.raw_share > 0 && unit(sample_key(0, 0, sample)) < options_.raw_share;
    const bool large =
        options_.max_side > 0 && std::max(size.width, size.height) > options_.max_side;
    if (raw || large || options_.quality > 0) {
      encode(size, large, raw, out);
    } else if (!build_index(out)) {
      read_whole(size);  // to check that it can be decoded
    }
    out.entry.bytes = static_cast<uint32_t>(out.bytes.size());
    if (options_.index && !raw) add_index(out);
    out.entry.check = hash_bytes(out.bytes.data(), static_cast<int64_t>(out.bytes.size()));
  } catch (const DamagedImage& damage) {
    out.damage = source.name(sample) + ": " + damage.what();
  }
}

// Sets index_ to the seek index of the image in `out`. Returns false if the image is damaged or is
// not a baseline JPEG.
bool Packer::build_index(const Result& out) {
  index_.clear();
  return decoder_.open(out.bytes) && decoder_.complete(index_);
}

void Packer::add_index(Result& out) {
  if (!build_index(out)) return;
  const std::string packed = jpeg::pack_index(index_);
  if (packed.size() * 25 > out.bytes.size()) return;  // keeps only indexes up to 4 % of the image
  out.bytes.insert(out.bytes.end(), packed.begin(), packed.end());
  out.entry.index_bytes = static_cast<uint32_t>(packed.size());
}

// Decodes the whole image into pixels_: RGB, without padding between rows.
void Packer::read_whole(const Size& size) {
  pixels_.resize(static_cast<size_t>(3 * size.width * size.height));
  uint8_t* to = pixels_.data();
  reader_.start({0, 0, size.width, size.height}, 64);
  for (RowBlock rows = reader_.next(); rows.count > 0; rows = reader_.next())
    for (int64_t i = 0; i < rows.count; ++i, to += 3 * size.width)
      std::memcpy(to, rows.data + i * rows.stride, static_cast<size_t>(3 * size.width));
}

void Packer::reduce(const Size& full, const Size& size) {
  resizer_.begin({full.width, size.width, 0, size.width, false},
                 {full.height, size.height, 0, size.height, false}, Interpolation::bilinear);
  reader_.start(resizer_.needed(), resizer_.padding());
  for (RowBlock rows = reader_.next(); rows.count > 0; rows = reader_.next()) resizer_.push(rows);
  pixels_.resize(static_cast<size_t>(3 * size.width * size.height));
  resizer_.finish(pixels_.data(), 3 * size.width);
}

void Packer::encode(Size size, bool large, bool raw, Result& out) {
  if (large) {
    const Size full = size;
    const double share = static_cast<double>(options_.max_side) /
                         static_cast<double>(std::max(size.width, size.height));
    const auto scaled = [&](int64_t side) {
      return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(side) * share + 0.5));
    };
    size = {scaled(size.width), scaled(size.height)};
    reduce(full, size);
  } else {
    read_whole(size);
  }
  if (raw) {
    out.entry.kind = Packed::pixels;
    out.bytes = raw_image(pixels_.data(), size);
    return;
  }
  if (std::max(size.width, size.height) > kMaxJpegSide) return;  // keeps the original
  const int quality = options_.quality > 0 ? options_.quality : kQualityOfReduced;
  std::vector<uint8_t> encoded = encode_jpeg(pixels_.data(), size, quality, /*subsample=*/true);
  if (!large && encoded.size() * 10 > out.bytes.size() * 9) return;  // saves too little
  out.entry.kind = Packed::encoded;
  out.bytes = std::move(encoded);
}

}  // namespace shoal::data
