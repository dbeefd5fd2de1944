#pragma once
// What one thread of the loader does: carries out one ticket after the other.

#include <cstdint>
#include <vector>

#include "data/data_options.h"
#include "data/image/transform.h"
#include "data/jpeg/index_store.h"
#include "data/loader/bad_image_log.h"
#include "data/loader/batch.h"
#include "data/loader/feed.h"

namespace shoal::data {

// One object per thread; what it is given must outlive it.
class Worker {
 public:
  // `indexes` may be null.
  Worker(const LoaderOptions& options, BadImageLog& log, jpeg::IndexStore* indexes = nullptr);

  struct Result {
    // Of position, label, pixels, partner's key and lambda; 0 unless options.hash.
    uint64_t hash = 0;
    int64_t bad = 0;     // 1 when the image of this position is damaged
    bool ended = false;  // a stream has no image for this position; nothing was made
  };

  // Makes the image at `position` as row number `index` of its batch. Throws DamagedImage with
  // the image's name where damage is an error, and anything Dataset::read throws.
  Result make(const Feed& feed, int64_t position, int32_t index, Row& row, uint8_t* pixels);

 private:
  void begin_row(const Feed& feed, int64_t position, int32_t index, Row& row) const;
  void finish_bad(Row& row, uint8_t* pixels) const;
  Result make_streamed(const Feed& feed, int64_t position, int32_t index, Row& row,
                       uint8_t* pixels);
  bool decode_streamed(const StreamImage& image, uint64_t key, uint8_t* pixels);
  bool damaged(int64_t sample, const std::string& sentence);
  bool decode(const Feed& feed, int64_t sample, uint64_t key, uint8_t* pixels);
  void training_row(const Dataset& dataset, int64_t sample, uint64_t key, uint8_t* pixels);
  void replace(const Feed& feed, const Ticket& ticket, Row& row, uint8_t* pixels);
  uint64_t hash(const Feed& feed, int64_t position, const Row& row, const uint8_t* pixels) const;

  void follow(const Feed& feed, int64_t position);

  const LoaderOptions& options_;
  BadImageLog& log_;
  Transform transform_;
  jpeg::IndexStore* indexes_;
  std::vector<uint8_t> bytes_;
  jpeg::SeekIndex index_;
  const Progression sides_;
  MixOptions mix_;  // at the strength of the epoch
  int64_t side_;
};

}  // namespace shoal::data
