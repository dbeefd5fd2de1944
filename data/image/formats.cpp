// Loads OpenCV's imgcodecs library only when an image needs it: most runs read only JPEG, and this
// library loads more than a hundred others. Loads the version of the linked core library, from the
// same folder if possible. Looks up cv::imdecode by its mangled name.
#include "data/image/formats.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgproc.hpp>

#include "base/grow.h"
#include "data/errors.h"
#include "data/image/raw_pixels.h"
#include "data/limits.h"

namespace shoal::data {
namespace {

using Decode = cv::Mat (*)(const cv::_InputArray&, int);
// cv::IMREAD_UNCHANGED: depth and channels as stored, no Exif rotation. (OpenCV and Pillow do apply
// the orientation tag of a TIFF.)
constexpr int kUnchanged = -1;

// Returns the path of the imgcodecs library that belongs to the loaded core library.
std::string imgcodecs_path() {
  Dl_info where{};
  void* symbol = dlsym(RTLD_DEFAULT, "_ZN2cv16getVersionStringB5cxx11Ev");
  if (symbol != nullptr && dladdr(symbol, &where) != 0 && where.dli_fname != nullptr) {
    std::string path = where.dli_fname;
    const auto at = path.rfind("opencv_core");
    if (at != std::string::npos) return path.replace(at, 11, "opencv_imgcodecs");
  }
  return "libopencv_imgcodecs.so";
}

[[noreturn]] void fail_missing(const std::string& reason) {
  throw MissingLibrary(
      "PNG, WebP, BMP, TIFF and PNM images need OpenCV's imgcodecs library; install it (Debian 12 "
      "and Ubuntu 24.04: package libopencv-imgcodecs406): " +
      reason);
}

Decode open_decoder() {
  const std::string path = imgcodecs_path();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)  // shoal's packages lack imgcodecs; tries the system's library
    library = dlopen(path.substr(path.rfind('/') + 1).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail_missing(dlerror());
  void* symbol = dlsym(library, "_ZN2cv8imdecodeERKNS_11_InputArrayEi");
  if (symbol == nullptr) fail_missing("there is no cv::imdecode in " + path);
  cv::setNumThreads(1);  // shoal has its own threads
  cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
  return reinterpret_cast<Decode>(symbol);
}

Decode decoder() {
  static const Decode decode = open_decoder();  // if it throws, the next call tries again
  return decode;
}

bool starts_with(std::span<const uint8_t> bytes, size_t at, const char* text, size_t length) {
  return bytes.size() >= at + length && std::memcmp(bytes.data() + at, text, length) == 0;
}

// Reads integers of a header with bounds checks.
class Header {
 public:
  Header(std::span<const uint8_t> bytes, bool big_endian) : bytes_(bytes), big_(big_endian) {}
  uint64_t read(uint64_t at, int length) const {
    if (at > bytes_.size() || bytes_.size() - at < static_cast<uint64_t>(length))
      throw DamagedImage("the file ends inside its header");
    uint64_t value = 0;
    for (int i = 0; i < length; ++i)
      value |= uint64_t{bytes_[at + static_cast<uint64_t>(i)]} << 8 * (big_ ? length - 1 - i : i);
    return value;
  }

 private:
  std::span<const uint8_t> bytes_;
  bool big_;
};

Size tiff_size(std::span<const uint8_t> bytes) {
  const Header header(bytes, bytes[0] == 'M');
  const uint64_t directory = header.read(4, 4);
  const uint64_t entries = header.read(directory, 2);
  Size size;
  bool transposed = false;
  for (uint64_t i = 0; i < entries; ++i) {
    const uint64_t entry = directory + 2 + 12 * i;
    const uint64_t tag = header.read(entry, 2);
    if (tag != 256 && tag != 257 && tag != 274) continue;
    const auto value =
        static_cast<int64_t>(header.read(entry + 8, header.read(entry + 2, 2) == 3 ? 2 : 4));
    if (tag == 256) size.width = value;
    if (tag == 257) size.height = value;
    if (tag == 274) transposed = value >= 5 && value <= 8;  // an orientation that swaps the axes
  }
  return transposed ? Size{size.height, size.width} : size;
}

Size webp_size(std::span<const uint8_t> bytes) {
  const Header header(bytes, false);
  if (starts_with(bytes, 12, "VP8X", 4))
    return {static_cast<int64_t>(header.read(24, 3)) + 1,
            static_cast<int64_t>(header.read(27, 3)) + 1};
  if (starts_with(bytes, 12, "VP8L", 4)) {
    const uint64_t packed = header.read(21, 4);
    return {static_cast<int64_t>(packed & 0x3fff) + 1,
            static_cast<int64_t>(packed >> 14 & 0x3fff) + 1};
  }
  return {static_cast<int64_t>(header.read(26, 2) & 0x3fff),
          static_cast<int64_t>(header.read(28, 2) & 0x3fff)};
}

Size bmp_size(std::span<const uint8_t> bytes) {
  const Header header(bytes, false);
  if (header.read(14, 4) == 12)
    return {static_cast<int64_t>(header.read(18, 2)), static_cast<int64_t>(header.read(20, 2))};
  const auto height = static_cast<int32_t>(header.read(22, 4));  // negative: top row first
  return {static_cast<int32_t>(header.read(18, 4)), height < 0 ? -int64_t{height} : height};
}

bool is_blank(uint64_t byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}
bool is_digit(uint64_t byte) {
  return byte >= '0' && byte <= '9';
}

struct Pnm {
  Size size;
  int64_t white = 255;  // largest possible sample value in OpenCV's output
};

// The header of a PNM consists of its kind, width, height and, except in P4, the value of white.
// White space and comments separate the numbers. Exactly one byte of white space follows the last
// number.
Pnm read_pnm(std::span<const uint8_t> bytes) {
  const Header header(bytes, true);
  uint64_t at = 2;
  const auto next_number = [&] {
    for (bool comment = false;; ++at) {
      const uint64_t byte = header.read(at, 1);
      comment = comment ? byte != '\n' && byte != '\r' : byte == '#';
      if (!comment && !is_blank(byte)) break;
    }
    const uint64_t begin = at;
    int64_t value = 0;
    for (; is_digit(header.read(at, 1)); ++at) {
      value = 10 * value + static_cast<int64_t>(header.read(at, 1) - '0');
      if (value > INT32_MAX) throw DamagedImage("a number in its header is too large");
    }
    if (at == begin || !is_blank(header.read(at++, 1)))
      throw DamagedImage("its header has something else where a number is expected");
    return value;
  };
  const uint64_t kind = header.read(1, 1);
  Pnm pnm;
  pnm.size.width = next_number();
  pnm.size.height = next_number();
  check_dimensions(pnm.size);
  if (kind != '4') pnm.white = next_number();
  if (pnm.white < 1 || pnm.white > UINT16_MAX)
    throw DamagedImage("its largest sample is " + std::to_string(pnm.white) +
                       "; it must be between 1 and 65535");
  const int64_t samples = pnm.size.width * (kind == '6' ? 3 : 1);
  const int64_t row = kind == '4' ? (samples + 7) / 8 : pnm.white > 255 ? 2 * samples : samples;
  if (row * pnm.size.height > static_cast<int64_t>(bytes.size() - at))
    throw DamagedImage("the file ends before its last row");
  return pnm;
}

// Scales samples from 0 … `white` to 0 … 255 and rounds them, like Pillow for color images.
template <class Sample>
cv::Mat scaled(const cv::Mat& image, int64_t white) {
  cv::Mat bytes(image.rows, image.cols, CV_8UC(image.channels()));
  for (int y = 0; y < image.rows; ++y) {
    const auto* in = image.ptr<Sample>(y);
    auto* out = bytes.ptr<uint8_t>(y);
    for (int i = 0; i < image.cols * image.channels(); ++i)
      out[i] = static_cast<uint8_t>((std::min<int64_t>(in[i], white) * 255 + white / 2) / white);
  }
  return bytes;
}

// Converts to 8-bit samples. Keeps the high byte of 16-bit samples, like Pillow for color images.
// (Pillow clips 16-bit gray levels to 255.)
cv::Mat to_bytes(const cv::Mat& image) {
  if (image.depth() == CV_8U) return image;
  if (image.depth() != CV_16U) throw DamagedImage("its samples are neither 8 nor 16 bits wide");
  cv::Mat bytes(image.rows, image.cols, CV_8UC(image.channels()));
  for (int y = 0; y < image.rows; ++y) {
    const auto* in = image.ptr<uint16_t>(y);
    auto* out = bytes.ptr<uint8_t>(y);
    for (int i = 0; i < image.cols * image.channels(); ++i)
      out[i] = static_cast<uint8_t>(in[i] >> 8);
  }
  return bytes;
}

// `white`: see Pnm.
cv::Mat pnm_to_bytes(const cv::Mat& image, int64_t white) {
  if (white == 255) return image;
  return image.depth() == CV_16U ? scaled<uint16_t>(image, white) : scaled<uint8_t>(image, white);
}

int conversion(int channels) {
  switch (channels) {
    case 1:
      return cv::COLOR_GRAY2RGB;
    case 3:
      return cv::COLOR_BGR2RGB;
    case 4:
      return cv::COLOR_BGRA2RGB;
    default:
      throw DamagedImage("it has " + std::to_string(channels) + " channels, not 1, 3 or 4");
  }
}

}  // namespace

const char* name_of(Format format) {
  switch (format) {
    case Format::jpeg:
      return "JPEG";
    case Format::png:
      return "PNG";
    case Format::webp:
      return "WebP";
    case Format::bmp:
      return "BMP";
    case Format::tiff:
      return "TIFF";
    case Format::pnm:
      return "PNM";
    case Format::raw:
      return "raw pixels";
    case Format::unknown:
      break;
  }
  return "unknown";
}

Format recognize(std::span<const uint8_t> b) {
  if (starts_with(b, 0, "\xff\xd8\xff", 3)) return Format::jpeg;
  if (starts_with(b, 0, "\x89PNG\r\n\x1a\n", 8)) return Format::png;
  if (starts_with(b, 0, "RIFF", 4) && starts_with(b, 8, "WEBP", 4)) return Format::webp;
  if (starts_with(b, 0, "II*\0", 4) || starts_with(b, 0, "MM\0*", 4)) return Format::tiff;
  // Bytes 14 to 17 are the size of the second header: 12 to 124.
  if (starts_with(b, 0, "BM", 2) && b.size() >= 18 && b[14] >= 12 && b[14] <= 124 &&
      starts_with(b, 15, "\0\0\0", 3))
    return Format::bmp;
  // Some texts begin with "P5 ". Therefore also checks the byte after the white space.
  if (b.size() >= 4 && b[0] == 'P' && b[1] >= '4' && b[1] <= '6' && is_blank(b[2]) &&
      (is_blank(b[3]) || is_digit(b[3]) || b[3] == '#'))
    return Format::pnm;
  if (starts_with(b, 0, kRawMagic, sizeof kRawMagic)) return Format::raw;
  return Format::unknown;
}

Size stated_size(Format format, std::span<const uint8_t> bytes) {
  const Header header(bytes, true);
  switch (format) {
    case Format::png:
      return {static_cast<int64_t>(header.read(16, 4)), static_cast<int64_t>(header.read(20, 4))};
    case Format::webp:
      return webp_size(bytes);
    case Format::bmp:
      return bmp_size(bytes);
    case Format::tiff:
      return tiff_size(bytes);
    case Format::pnm:
      return read_pnm(bytes).size;
    default:
      throw DamagedImage("not a JPEG, PNG, WebP, BMP, TIFF or binary PNM image");
  }
}

Size decode_other(Format format, std::span<const uint8_t> bytes, int64_t padding,
                  std::vector<uint8_t>& pixels) {
  check_dimensions(stated_size(format, bytes));
  const Decode decode = decoder();
  try {
    const cv::Mat wrapped(1, static_cast<int>(bytes.size()), CV_8U,
                          const_cast<uint8_t*>(bytes.data()));
    const cv::Mat decoded = decode(wrapped, kUnchanged);
    const cv::Mat image =
        format == Format::pnm ? pnm_to_bytes(decoded, read_pnm(bytes).white) : to_bytes(decoded);
    const Size size{image.cols, image.rows};
    if (image.empty()) throw DamagedImage("its decoder failed");
    const auto need = static_cast<size_t>(size.width * size.height * 3 + padding);
    grow(pixels, need);
    cv::Mat rgb(image.rows, image.cols, CV_8UC3, pixels.data());
    cv::cvtColor(image, rgb, conversion(image.channels()));
    return size;
  } catch (const cv::Exception& error) {
    throw DamagedImage("its decoder failed: " + error.err);
  }
}

}  // namespace shoal::data
