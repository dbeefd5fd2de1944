#include "data/pack/check_dataset.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>

#include "base/parallel.h"
#include "data/errors.h"
#include "data/image/image_reader.h"

namespace shoal::data {
namespace {

constexpr int64_t kCheckProgress = 100;  // images

// What the header of an image states about its pixels.
struct Coding {
  const char* format = "";
  bool gray = false, cmyk = false;
};

// Reads the frame header (SOF) of a JPEG that was decoded without an error. Skips bytes between
// segments, as libjpeg-turbo does.
Coding jpeg_coding(std::span<const uint8_t> bytes) {
  for (size_t at = 2; at + 9 < bytes.size();) {
    const uint8_t marker = bytes[at + 1];
    if (bytes[at] != 0xff || marker == 0xff) {
      ++at;
      continue;
    }
    // C4, C8 and CC are not frames.
    if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc) {
      const char* const format = marker == 0xc0   ? "baseline JPEG"
                                 : marker == 0xc1 ? "extended JPEG"
                                 : marker == 0xc2 ? "progressive JPEG"
                                                  : "other JPEG";
      return {format, bytes[at + 9] == 1, bytes[at + 9] == 4};
    }
    const bool has_length = marker > 0x01 && (marker < 0xd0 || marker > 0xd9);
    at += 2 + (has_length ? size_t{bytes[at + 2]} << 8 | bytes[at + 3] : 0);
  }
  return {"other JPEG"};
}

// `bytes`: an image that was decoded without an error.
Coding coding_of(std::span<const uint8_t> bytes) {
  const Format format = recognize(bytes);
  if (format == Format::jpeg) return jpeg_coding(bytes);
  // Color types of a PNG: 0 is gray, 4 is gray with alpha.
  return {name_of(format), format == Format::png && (bytes[25] == 0 || bytes[25] == 4)};
}

// Decodes the image that `reader` has opened. Called for images that Fingerprints could not
// decode (their hash is 0), to throw DamagedImage with the reason.
void decode(ImageReader& reader, const Size& size) {
  reader.start({0, 0, size.width, size.height}, /*padding=*/64);
  for (int64_t row = 0; row < size.height;) row += reader.next().count;
}

}  // namespace

DatasetCheck check_dataset(const Fingerprints& images, int threads,
                           const std::function<void(int64_t)>& progress) {
  DatasetCheck check;
  std::vector<Size> sizes;
  std::mutex mutex;
  int64_t done = 0;
  for_each_index(static_cast<size_t>(images.size()), threads, [&](size_t i) {
    thread_local std::vector<uint8_t> bytes;
    thread_local ImageReader reader;
    const auto sample = static_cast<int64_t>(i);
    Size size;
    Coding coding;
    std::optional<std::string> damage;
    try {
      images.read(sample, bytes);
      size = reader.open(bytes);
      if (images.of(sample) == 0) decode(reader, size);
      coding = coding_of(bytes);
    } catch (const DamagedImage& error) {
      damage = error.what();
    }
    const std::lock_guard lock(mutex);
    if (damage) {
      check.damaged.push_back({sample, *damage});
    } else {
      ++check.formats[coding.format];
      check.gray += coding.gray ? 1 : 0;
      check.cmyk += coding.cmyk ? 1 : 0;
      sizes.push_back(size);
    }
    if (++done % kCheckProgress == 0 && progress) progress(done);
  });
  std::ranges::sort(check.damaged, {}, &DamagedSample::sample);
  if (sizes.empty()) return check;
  std::ranges::sort(sizes, {},
                    [](const Size& s) { return std::tuple(s.width * s.height, s.width); });
  check.smallest = sizes.front();
  check.median = sizes[sizes.size() / 2];
  check.largest = sizes.back();
  return check;
}

}  // namespace shoal::data
