// The only file that includes libjpeg-turbo.
//
// The library reports an error by calling a function that must not return; ours calls longjmp. So
// library calls run in guarded(), whose body must not have objects with destructors. Exceptions are
// thrown only after guarded() has returned.
#include "data/jpeg/turbo.h"

#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/grow.h"
#include "data/errors.h"
#include "data/limits.h"

namespace shoal::data {
namespace {

constexpr int kRowsPerBlock = 16;
constexpr int kMaxScans = 500;  // in a progressive image; decompression bombs have thousands

struct ErrorManager {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void leave(j_common_ptr info) {
  auto* errors = reinterpret_cast<ErrorManager*>(info->err);
  (*info->err->format_message)(info, errors->message);
  std::longjmp(errors->jump, 1);
}

void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;  // a trace message
  switch (info->err->msg_code) {
    case JWRN_EXTRANEOUS_DATA:  // bytes between segments; common, and nothing is lost
    case JWRN_JFIF_MAJOR:
    case JWRN_ADOBE_XFORM:
    case JWRN_NOT_SEQUENTIAL:  // wrong scan parameters in a file that is read correctly anyway
      return;
    default:
      leave(info);
  }
}

void on_progress(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMaxScans) return;
  auto* errors = reinterpret_cast<ErrorManager*>(info->err);
  std::snprintf(errors->message, sizeof errors->message, "more than %d scans", kMaxScans);
  std::longjmp(errors->jump, 1);
}

jpeg_error_mgr* init_errors(ErrorManager& errors) {
  jpeg_std_error(&errors.base);
  errors.base.error_exit = leave;
  errors.base.emit_message = on_message;
  errors.base.output_message = [](j_common_ptr) {};
  return &errors.base;
}

// Runs library calls. Returns false if the library reported an error.
template <class Body>
[[nodiscard]] bool guarded(ErrorManager& errors, Body body) {
  if (setjmp(errors.jump) != 0) return false;
  body();
  return true;
}

// Returns x * y / 255, rounded like Pillow.
inline int scaled(int x, int y) {
  const int product = x * y + 128;
  return ((product >> 8) + product) >> 8;
}

// Converts one row of inverted CMYK to RGB in place.
void cmyk_to_rgb(uint8_t* row, int64_t width) {
  for (int64_t x = 0; x < width; ++x) {
    const uint8_t* in = row + 4 * x;
    uint8_t* out = row + 3 * x;
    const int light = in[3];
    const int cyan = 255 - in[0], magenta = 255 - in[1], yellow = 255 - in[2];
    out[0] = static_cast<uint8_t>(light - scaled(cyan, light));
    out[1] = static_cast<uint8_t>(light - scaled(magenta, light));
    out[2] = static_cast<uint8_t>(light - scaled(yellow, light));
  }
}

}  // namespace

struct TurboDecoder::State {
  jpeg_decompress_struct info{};
  ErrorManager errors{};
  jpeg_progress_mgr progress{};
  std::vector<uint8_t> block;
  std::span<const uint8_t> bytes;
  const uint8_t* scan = nullptr;  // first byte of entropy-coded data
  int64_t stride = 0, skip_bytes = 0;
  int64_t decoded_width = 0;  // columns that the library decodes: the box and a margin
  int64_t rows_left = 0;
  bool cmyk = false;

  [[noreturn]] void fail() {
    jpeg_abort_decompress(&info);
    throw DamagedImage(std::string("damaged JPEG: ") + errors.message);
  }
  int read_block(int rows);
  void check_end();
};

TurboDecoder::TurboDecoder() : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.info.err = init_errors(s.errors);
  if (!guarded(s.errors, [&s] { jpeg_create_decompress(&s.info); })) throw std::bad_alloc();
  s.progress.progress_monitor = on_progress;
  s.info.progress = &s.progress;
}

TurboDecoder::~TurboDecoder() {
  jpeg_destroy_decompress(&state_->info);
}

Size TurboDecoder::open(std::span<const uint8_t> bytes) {
  State& s = *state_;
  jpeg_abort_decompress(&s.info);
  s.bytes = bytes;
  const bool ok = guarded(s.errors, [&s] {
    jpeg_mem_src(&s.info, s.bytes.data(), s.bytes.size());
    jpeg_read_header(&s.info, TRUE);
    s.scan = s.info.src->next_input_byte;
  });
  if (!ok) s.fail();
  const Size size{s.info.image_width, s.info.image_height};
  check_dimensions(size);
  const auto space = s.info.jpeg_color_space;
  s.cmyk = space == JCS_CMYK || space == JCS_YCCK;
  if (!s.cmyk && space != JCS_GRAYSCALE && space != JCS_YCbCr && space != JCS_RGB)
    throw DamagedImage("its " + std::to_string(s.info.num_components) +
                       " color components have no known meaning");
  return size;
}

void TurboDecoder::start(const Box& box, int64_t padding) {
  State& s = *state_;
  const int64_t components = s.cmyk ? 4 : 3;
  // Adds a margin of one MCU left and right: smooth upsampling reads neighboring chroma samples.
  const int64_t margin = 8 * s.info.max_h_samp_factor;
  const int64_t left = std::max<int64_t>(0, box.left - margin);
  const int64_t right = std::min<int64_t>(s.info.image_width, box.left + box.width + margin);
  JDIMENSION x = static_cast<JDIMENSION>(left), width = static_cast<JDIMENSION>(right - left);
  const bool ok = guarded(s.errors, [&s, &box, &x, &width] {
    s.info.out_color_space = s.cmyk ? JCS_CMYK : JCS_RGB;
    s.info.dct_method = JDCT_ISLOW;
    s.info.do_fancy_upsampling = TRUE;
    jpeg_start_decompress(&s.info);
    if (width < s.info.output_width) jpeg_crop_scanline(&s.info, &x, &width);
    if (box.top > 0) jpeg_skip_scanlines(&s.info, static_cast<JDIMENSION>(box.top));
  });
  if (!ok) s.fail();
  s.decoded_width = width;
  s.skip_bytes = (box.left - static_cast<int64_t>(x)) * 3;
  s.stride = (s.decoded_width * components + padding + 31) / 32 * 32;
  s.rows_left = box.height;
  const auto need = static_cast<size_t>(s.stride * kRowsPerBlock);
  grow(s.block, need);
}

int TurboDecoder::State::read_block(int rows) {
  JSAMPROW pointers[kRowsPerBlock];
  for (int i = 0; i < rows; ++i) pointers[i] = block.data() + i * stride;
  const bool ok = guarded(errors, [this, rows, &pointers] {
    for (int done = 0; done < rows;)
      done += static_cast<int>(
          jpeg_read_scanlines(&info, pointers + done, static_cast<JDIMENSION>(rows - done)));
  });
  if (!ok) fail();
  if (cmyk)
    for (int i = 0; i < rows; ++i) cmyk_to_rgb(pointers[i], decoded_width);
  return rows;
}

RowBlock TurboDecoder::next() {
  State& s = *state_;
  if (s.rows_left == 0) return {};
  const int rows = s.read_block(static_cast<int>(std::min<int64_t>(kRowsPerBlock, s.rows_left)));
  s.rows_left -= rows;
  if (s.rows_left == 0) s.check_end();
  return {s.block.data() + s.skip_bytes, s.stride, rows};
}

// Detects a truncated file, although rows below the box are not decoded. A truncated file has no
// end-of-image marker (FF D9) after the start of the scan: in entropy-coded data, 00 or a restart
// marker follows every FF.
void TurboDecoder::State::check_end() {
  const uint8_t* const begin = scan;
  const uint8_t* at = bytes.data() + bytes.size();
  jpeg_abort_decompress(&info);
  for (; at - begin >= 2; --at)
    if (at[-1] == 0xd9 && at[-2] == 0xff) return;
  throw DamagedImage("damaged JPEG: the file ends before the image");
}

std::vector<uint8_t> encode_jpeg(const uint8_t* pixels, Size size, int quality, bool subsample) {
  ErrorManager errors{};
  jpeg_compress_struct info{};
  unsigned char* out = nullptr;
  unsigned long length = 0;  // NOLINT(google-runtime-int): the library's type
  info.err = init_errors(errors);
  const bool ok = guarded(errors, [&] {
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &out, &length);
    info.image_width = static_cast<JDIMENSION>(size.width);
    info.image_height = static_cast<JDIMENSION>(size.height);
    info.input_components = 3;
    info.in_color_space = JCS_RGB;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, quality, TRUE);
    if (!subsample) info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(&info, TRUE);
    while (info.next_scanline < info.image_height) {
      auto* row = const_cast<JSAMPROW>(pixels + info.next_scanline * size.width * 3);
      jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
  });
  jpeg_destroy_compress(&info);
  std::unique_ptr<unsigned char, decltype(&std::free)> owner(out, &std::free);
  if (!ok) throw std::runtime_error(std::string("cannot encode a JPEG: ") + errors.message);
  return {out, out + length};
}

}  // namespace shoal::data
