#include "data/jpeg/header.h"

#include <algorithm>
#include <cstring>

#include "data/jpeg/kernels.h"

namespace shoal::data::jpeg {

namespace {

using Bytes = std::span<const uint8_t>;

enum Marker : uint8_t {
  kBaseline = 0xc0,
  kExtended = 0xc1,
  kHuffman = 0xc4,
  kStart = 0xd8,
  kScan = 0xda,
  kQuantization = 0xdb,
  kRestarts = 0xdd,
  kJfif = 0xe0,
  kAdobe = 0xee,
};

size_t word(Bytes bytes, size_t at) {
  return static_cast<size_t>(bytes[at]) << 8 | bytes[at + 1];
}

// Reads the header's marker segments in order. Each function returns false if shoal's own decoder
// cannot read the file.
class Parser {
 public:
  explicit Parser(Bytes bytes) : bytes_(bytes) {}

  bool run() {
    if (bytes_.size() < 4 || word(bytes_, 0) != (0xff00 | kStart)) return false;
    size_t at = 2;
    while (at + 4 <= bytes_.size()) {
      if (bytes_[at] != 0xff) return false;  // stray bytes; libjpeg-turbo skips them
      const uint8_t marker = bytes_[at + 1];
      if (marker == 0xff) {  // fill byte
        ++at;
        continue;
      }
      const size_t length = word(bytes_, at + 2);
      if (length < 2 || at + 2 + length > bytes_.size()) return false;
      const Bytes body = bytes_.subspan(at + 4, length - 2);
      at += 2 + length;
      if (marker == kScan) {
        header.scan = at;
        return scan(body) && complete();
      }
      if (!segment(marker, body)) return false;
    }
    return false;
  }

  Header header;

 private:
  bool segment(uint8_t marker, Bytes body) {
    switch (marker) {
      case kBaseline:
      case kExtended:
        return frame(body);
      case kHuffman:
        return huffman(body);
      case kQuantization:
        return quantization(body);
      case kRestarts:
        return body.size() == 2 && word(body, 0) == 0;
      case kJfif:
        jfif_ |= body.size() >= 14 && std::memcmp(body.data(), "JFIF", 5) == 0;
        return true;
      case kAdobe:
        if (body.size() >= 12 && std::memcmp(body.data(), "Adobe", 5) == 0) adobe_ = body[11];
        return true;
      default:
        // Skips comments and application data. Any other marker means another kind of file.
        return marker == 0xfe || (marker > kJfif && marker <= 0xef);
    }
  }

  bool frame(Bytes body) {
    if (header.count != 0 || body.size() < 6 || body[0] != 8) return false;
    header.size = {static_cast<int64_t>(word(body, 3)), static_cast<int64_t>(word(body, 1))};
    header.count = body[5];
    if (header.count != 1 && header.count != 3) return false;
    if (body.size() != 6 + 3 * static_cast<size_t>(header.count)) return false;
    for (int i = 0; i < header.count; ++i) {
      const uint8_t* at = body.data() + 6 + 3 * i;
      if (at[2] > 3) return false;
      header.components[i] = {at[0], at[1] >> 4, at[1] & 15, at[2], 0, 0};
    }
    return header.size.width > 0 && header.size.height > 0;
  }

  bool quantization(Bytes body) {
    while (!body.empty()) {
      if (body[0] > 3 || body.size() < 65) return false;  // 16-bit tables are not supported
      uint16_t* table = header.quantization[body[0]];
      for (int i = 0; i < 64; ++i) table[kZigzag[i]] = body[1 + static_cast<size_t>(i)];
      quantized_ |= 1u << body[0];
      body = body.subspan(65);
    }
    return true;
  }

  bool huffman(Bytes body) {
    while (!body.empty()) {
      if (body.size() < 17 || body[0] > 0x13 || (body[0] & 15) > 3) return false;
      HuffmanSpec spec;
      // `places`: number of free codes of the current length. A code is free if it is not used and
      // does not begin with a used code. One must stay free: the code of all ones is reserved.
      int places = 1;
      for (int i = 0; i < 16; ++i) {
        spec.counts[i] = body[1 + static_cast<size_t>(i)];
        spec.total += spec.counts[i];
        places = 2 * places - spec.counts[i];
        if (places < 1) return false;
      }
      const auto total = static_cast<size_t>(spec.total);
      if (spec.total < 1 || spec.total > 256 || body.size() < 17 + total) return false;
      std::copy_n(body.data() + 17, total, spec.symbols);
      const bool dc = (body[0] >> 4) == 0;
      for (size_t i = 0; i < total; ++i) {
        if ((dc && spec.symbols[i] > 11) || (!dc && (spec.symbols[i] & 15) > 10)) return false;
      }
      (dc ? header.dc : header.ac)[body[0] & 15] = spec;
      body = body.subspan(17 + total);
    }
    return true;
  }

  bool scan(Bytes body) {
    const auto count = static_cast<size_t>(header.count);
    if (count == 0 || body.size() != 4 + 2 * count || body[0] != count) return false;
    for (size_t i = 0; i < count; ++i) {
      Component& component = header.components[i];
      const uint8_t tables = body[2 + 2 * i];
      if (body[1 + 2 * i] != component.id || (tables >> 4) > 3 || (tables & 15) > 3) return false;
      component.dc = tables >> 4;
      component.ac = tables & 15;
    }
    return body[1 + 2 * count] == 0 && body[2 + 2 * count] == 63 && body[3 + 2 * count] == 0;
  }

  bool complete() {
    for (int i = 0; i < header.count; ++i) {
      const Component& component = header.components[i];
      if (!(quantized_ >> component.quantization & 1)) return false;
      if (header.dc[component.dc].total == 0 || header.ac[component.ac].total == 0) return false;
    }
    Component* const all = header.components;
    if (header.count == 1) {  // an MCU is one block, whatever the sampling factors are
      all[0].horizontal = all[0].vertical = 1;
      return true;
    }
    header.horizontal = all[0].horizontal;
    header.vertical = all[0].vertical;
    // If a chroma plane has only one or two columns, libjpeg-turbo repeats samples instead of
    // blending them. Our decoder always blends.
    if (header.horizontal == 2 && header.size.width <= 4) return false;
    const bool sampling = (header.horizontal == 1 && header.vertical == 1) ||
                          (header.horizontal == 2 && header.vertical <= 2);
    const auto single = [](const Component& c) { return c.horizontal == 1 && c.vertical == 1; };
    return sampling && header.vertical >= 1 && single(all[1]) && single(all[2]) && is_ycc();
  }

  // Whether the three components are certainly YCbCr. The JFIF marker decides; without it, the
  // Adobe marker; without both, the component ids.
  bool is_ycc() const {
    if (jfif_) return true;
    if (adobe_ >= 0) return adobe_ == 1;
    const Component* c = header.components;
    return c[0].id == 1 && c[1].id == 2 && c[2].id == 3;
  }

  Bytes bytes_;
  unsigned quantized_ = 0;  // bit mask of the tables that are defined
  bool jfif_ = false;
  int adobe_ = -1;  // color transform of the Adobe marker; -1: none
};

}  // namespace

std::optional<Header> read_header(Bytes bytes) {
  Parser parser(bytes);
  if (!parser.run()) return std::nullopt;
  return parser.header;
}

}  // namespace shoal::data::jpeg
