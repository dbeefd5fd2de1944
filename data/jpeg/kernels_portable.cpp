// Kernels for any processor. 16-bit operations wrap and saturate like those of the vector code, so
// the results are the same for every input, even a damaged one.
#include <algorithm>
#include <cstring>

#include "data/jpeg/entropy_loops.h"
#include "data/jpeg/idct.h"

namespace shoal::data::jpeg {
namespace {

uint8_t* unstuff(const uint8_t* from, const uint8_t* to, uint8_t* out) {
  while (from < to) {
    const auto* stop =
        static_cast<const uint8_t*>(std::memchr(from, 0xff, static_cast<size_t>(to - from)));
    const uint8_t* const end = stop ? stop + 1 : to;
    std::memcpy(out, from, static_cast<size_t>(end - from));
    out += end - from;
    if (!stop) break;
    if (end == to || *end != 0) return out - 1;  // a marker
    from = end + 1;
  }
  return out;
}

int32_t wrap16(int32_t x) {
  return static_cast<int16_t>(x);
}
int32_t saturate16(int32_t x) {
  return std::clamp(x, -32768, 32767);
}
// Add and subtract with wrap-around.
int32_t add(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
int32_t subtract(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}

// Runs one pass of the IDCT in place on eight coefficients that are `step` elements apart.
void pass(int32_t* x, int step, int shift) {
  const auto in = [&](int i) { return x[i * step]; };
  const auto out = [&](int i, int32_t sum) { x[i * step] = saturate16(sum >> shift); };
  const int32_t round = 1 << (shift - 1);
  const int32_t t2 = in(2) * k0541 + in(6) * (k0541 - k1847);
  const int32_t t3 = in(2) * (k0541 + k0765) + in(6) * k0541;
  const int32_t t0 = add(wrap16(in(0) + in(4)) * kOne, round);
  const int32_t t1 = add(wrap16(in(0) - in(4)) * kOne, round);
  const int32_t e0 = add(t0, t3), e3 = subtract(t0, t3), e1 = add(t1, t2), e2 = subtract(t1, t2);
  const int32_t s73 = wrap16(in(7) + in(3)), s51 = wrap16(in(5) + in(1));
  const int32_t z3 = s73 * (k1175 - k1961) + s51 * k1175;
  const int32_t z4 = s73 * k1175 + s51 * (k1175 - k0390);
  const int32_t o0 = add(in(7) * (k0298 - k0899) + in(1) * -k0899, z3);
  const int32_t o3 = add(in(7) * -k0899 + in(1) * (k1501 - k0899), z4);
  const int32_t o1 = add(in(5) * (k2053 - k2562) + in(3) * -k2562, z4);
  const int32_t o2 = add(in(5) * -k2562 + in(3) * (k3072 - k2562), z3);
  out(0, add(e0, o3)), out(7, subtract(e0, o3));
  out(1, add(e1, o2)), out(6, subtract(e1, o2));
  out(2, add(e2, o1)), out(5, subtract(e2, o1));
  out(3, add(e3, o0)), out(4, subtract(e3, o0));
}

void transform_block(const int16_t* coefficients, const int16_t* quantization, uint8_t* out,
                     int64_t stride) {
  int32_t x[64];
  for (int i = 0; i < 64; ++i) x[i] = wrap16(coefficients[i] * quantization[i]);
  for (int i = 0; i < 8; ++i) pass(x + i, 8, kFirstShift);
  for (int i = 0; i < 8; ++i) pass(x + 8 * i, 1, kSecondShift);
  for (int i = 0; i < 64; ++i)
    out[i / 8 * stride + i % 8] = static_cast<uint8_t>(std::clamp(x[i], -128, 127) + 128);
}

void transform(const BlockRow& row) {
  const int32_t blocks = row.horizontal * row.vertical;
  for (int64_t mcu = 0; mcu < row.mcus; ++mcu) {
    for (int32_t b = 0; b < blocks; ++b) {
      transform_block(row.coefficients + mcu * row.mcu_step + 64 * b, row.quantization,
                      row.out + b / row.horizontal * 8 * row.stride +
                          (mcu * row.horizontal + b % row.horizontal) * 8,
                      row.stride);
    }
  }
}

void upsample(const uint8_t* near, const uint8_t* far, uint8_t* out, int64_t count) {
  if (!far) {
    for (int64_t i = 0; i < count; ++i) {
      out[2 * i] = static_cast<uint8_t>((3 * near[i] + near[i - 1] + 1) >> 2);
      out[2 * i + 1] = static_cast<uint8_t>((3 * near[i] + near[i + 1] + 2) >> 2);
    }
    return;
  }
  const auto column = [&](int64_t i) { return 3 * near[i] + far[i]; };
  for (int64_t i = 0; i < count; ++i) {
    out[2 * i] = static_cast<uint8_t>((3 * column(i) + column(i - 1) + 8) >> 4);
    out[2 * i + 1] = static_cast<uint8_t>((3 * column(i) + column(i + 1) + 7) >> 4);
  }
}

uint8_t level(int32_t x) {
  return static_cast<uint8_t>(std::clamp(x, 0, 255));
}

void to_rgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, uint8_t* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i, out += 3) {
    const int32_t blue = cb[i] - 128, red = cr[i] - 128, half = 1 << 15;
    out[0] = level(y[i] + ((kRedFromCr * red + half) >> 16));
    out[1] = level(y[i] + ((kGreenFromCb * blue + kGreenFromCr * red + half) >> 16));
    out[2] = level(y[i] + ((kBlueFromCb * blue + half) >> 16));
  }
}

void gray_to_rgb(const uint8_t* y, uint8_t* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = y[i];
}

}  // namespace

extern const Kernels kAvx2Kernels;
void take_avx512(Kernels& kernels);

const Kernels& kernels([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx2) return kAvx2Kernels;
  if (isa == Isa::avx512) {  // kernels_avx512.cpp must not run on processors without AVX-512
    static const Kernels avx512 = [] {
      Kernels some = kAvx2Kernels;
      take_avx512(some);
      return some;
    }();
    return avx512;
  }
#endif
  static constexpr Kernels portable{begin,     decode,   decode_two, walk,       unstuff,
                                    transform, upsample, to_rgb,     gray_to_rgb};
  return portable;
}

}  // namespace shoal::data::jpeg
