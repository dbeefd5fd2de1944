#include "data/pack/fingerprints.h"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "base/parallel.h"
#include "data/errors.h"
#include "data/image/image_reader.h"

namespace shoal::data {
namespace {

constexpr int64_t kFirstRows = 32;

// Returns a hash of the image's size and RGB pixels, or only of its first rows. Throws
// DamagedImage.
uint64_t hash_image(std::span<const uint8_t> bytes, Fingerprints::Of of) {
  thread_local ImageReader reader;
  const Size size = reader.open(bytes);
  uint64_t hash = combine(static_cast<uint64_t>(size.width), static_cast<uint64_t>(size.height));
  const bool all = of == Fingerprints::Of::pixels;
  const int64_t rows = all ? size.height : std::min(size.height, kFirstRows);
  reader.start({0, 0, size.width, rows}, /*padding=*/64);
  for (int64_t row = 0; row < rows;) {
    const RowBlock block = reader.next();
    for (int64_t i = 0; i < block.count && row < rows; ++i, ++row)
      hash = combine(hash, hash_bytes(block.data + i * block.stride, 3 * size.width));
  }
  return hash;
}

}  // namespace

Fingerprints::Fingerprints(std::shared_ptr<const Dataset> images, Of of)
    : ForwardingDataset(std::move(images)), of_(of), prints_(static_cast<size_t>(inner().size())) {}

void Fingerprints::read(int64_t sample, std::vector<uint8_t>& bytes) const {
  inner().read(sample, bytes);
  uint64_t& print = prints_[static_cast<size_t>(sample)];
  try {
    print = hash_image(bytes, of_);
  } catch (const DamagedImage&) {
    print = 0;  // a caller that decodes the image reports the damage
  } catch (const MissingLibrary&) {
    if (of_ == Of::pixels) throw;
    print = 0;
  }
}

void Fingerprints::complete(int threads, const std::function<void(int64_t)>& progress) const {
  std::mutex mutex;
  int64_t done = 0;
  for_each_index(prints_.size(), threads, [&](size_t i) {
    if (prints_[i] == 0) {
      thread_local std::vector<uint8_t> bytes;
      try {
        read(static_cast<int64_t>(i), bytes);
      } catch (const std::runtime_error&) {
        prints_[i] = 0;
      }
    }
    const std::lock_guard lock(mutex);
    if (++done % 1000 == 0 && progress) progress(done);
  });
}

int64_t Fingerprints::without_hash() const {
  return std::ranges::count(prints_, uint64_t{0});
}

void Fingerprints::hash_pixels_of_shared(const Fingerprints& first, const Fingerprints& second,
                                         int threads) {
  const std::unordered_set<uint64_t> known(first.prints_.begin(), first.prints_.end());
  std::unordered_set<uint64_t> shared;
  for (const uint64_t print : second.prints_)
    if (print != 0 && known.contains(print)) shared.insert(print);
  for (const Fingerprints* images : {&first, &second}) images->hash_pixels_of(shared, threads);
}

void Fingerprints::hash_pixels_of(const std::unordered_set<uint64_t>& hashes, int threads) const {
  for_each_index(prints_.size(), threads, [&](size_t i) {
    if (!hashes.contains(std::exchange(prints_[i], 0))) return;
    thread_local std::vector<uint8_t> bytes;
    try {
      inner().read(static_cast<int64_t>(i), bytes);
      prints_[i] = hash_image(bytes, Of::pixels);
    } catch (const std::runtime_error&) {  // a damaged or vanished image keeps the hash 0
    }
  });
}

std::vector<std::pair<int64_t, int64_t>> shared_images(const Fingerprints& first,
                                                       const Fingerprints& second) {
  std::unordered_map<uint64_t, int64_t> known;
  for (int64_t i = 0; i < first.size(); ++i)
    if (first.of(i) != 0) known.emplace(first.of(i), i);
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t i = 0; i < second.size(); ++i) {
    const auto found = known.find(second.of(i));
    if (second.of(i) != 0 && found != known.end()) pairs.emplace_back(found->second, i);
  }
  return pairs;
}

}  // namespace shoal::data
