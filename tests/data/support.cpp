#include "tests/data/support.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "data/random.h"

#ifdef __SANITIZE_THREAD__
// Ignore libgdal, which OpenCV's decoders load: it takes two of its own locks in both orders.
extern "C" const char* __tsan_default_suppressions() {
  return "deadlock:libgdal\n";
}
#endif

namespace shoal::data {

Bytes file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("no file " + path);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

Bytes read_golden(const std::string& name) {
  return file_bytes(SHOAL_SOURCE_DIR "/tests/golden/" + name);
}

Bytes formula_image(const Size& size) {
  Bytes pixels;
  for (int64_t y = 0; y < size.height; ++y)
    for (int64_t x = 0; x < size.width; ++x)
      for (int64_t c = 0; c < 3; ++c) {
        const int64_t harsh = x * x * 3 + y * y * 5 + x * y * 7 + c * 61 + (x ^ y) * 11;
        const int64_t smooth = x * 2 + y + c * 40;
        pixels.push_back(static_cast<uint8_t>((x / 16 + y / 16) % 2 == 0 ? harsh : smooth));
      }
  return pixels;
}

Bytes encode_bmp(const Bytes& pixels, const Size& size) {
  const int64_t stride = (size.width * 3 + 3) / 4 * 4;
  Bytes out(static_cast<size_t>(54 + stride * size.height), 0);
  const auto put = [&out](size_t at, int64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      out[at + static_cast<size_t>(i)] = static_cast<uint8_t>(value >> 8 * i);
  };
  out[0] = 'B', out[1] = 'M';
  put(2, static_cast<int64_t>(out.size()), 4);
  put(10, 54, 4);
  put(14, 40, 4);
  put(18, size.width, 4);
  put(22, size.height, 4);
  put(26, 1, 2);
  put(28, 24, 2);
  for (int64_t y = 0; y < size.height; ++y)
    for (int64_t x = 0; x < size.width; ++x)
      for (int64_t c = 0; c < 3; ++c)
        out[static_cast<size_t>(54 + (size.height - 1 - y) * stride + 3 * x + 2 - c)] =
            pixels[static_cast<size_t>((y * size.width + x) * 3 + c)];
  return out;
}

Bytes made_jpeg(int64_t index, const Size& size) {
  KeyedRandom random(static_cast<uint64_t>(index) + 1000);
  Bytes pixels(static_cast<size_t>(size.width * size.height * 3));
  const uint64_t base = random.next();
  for (size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<uint8_t>((base >> 8 * (i % 3)) + i / 29 + random.below(24));
  return encode_jpeg(pixels.data(), size, 90, index % 2 == 0);
}

std::vector<Isa> supported_isas() {
  std::vector<Isa> isas;
  std::copy_if(std::begin(kIsas), std::end(kIsas), std::back_inserter(isas), supported);
  return isas;
}

int largest_difference(const Bytes& a, const Bytes& b) {
  if (a.size() != b.size()) return 999;
  int largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

MemoryDataset::MemoryDataset(std::vector<Bytes> all, int64_t classes) : images(std::move(all)) {
  for (int64_t i = 0; i < classes; ++i) classes_.push_back("class" + std::to_string(i));
}

void MemoryDataset::read(int64_t sample, Bytes& bytes) const {
  if (sample == unreadable) throw std::runtime_error("cannot open " + name(sample) + ": gone");
  bytes = images[static_cast<size_t>(sample)];
}

std::shared_ptr<MemoryDataset> made_dataset(int64_t n) {
  std::vector<Bytes> images;
  for (int64_t i = 0; i < n; ++i) images.push_back(made_jpeg(i));
  return std::make_shared<MemoryDataset>(std::move(images));
}

void TempFolder::write(const std::string& name, const Bytes& bytes) const {
  const std::filesystem::path path(*this / name);
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

void TempFolder::write(const std::string& name, const std::string& text) const {
  write(name, Bytes(text.begin(), text.end()));
}

}  // namespace shoal::data
