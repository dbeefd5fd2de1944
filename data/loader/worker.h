#pragma once
// The work of one loader thread: decodes, transforms and augments the image of a ticket (feed.h)
// into its row of the batch.

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/data_options.h"
#include "data/jpeg/index_store.h"
#include "data/loader/bad_image_log.h"
#include "data/loader/batch.h"
#include "data/loader/feed.h"
#include "data/loader/transform.h"

namespace shoal::data {

// The image that a worker thread is reading. Thread-safe.
class CurrentRead {
 public:
  // Returns the image's name and the time at which the read began; nothing between reads.
  std::optional<std::pair<std::string, std::chrono::steady_clock::time_point>> get() const;

  // While a Scope exists, get() of `current` returns the image of `ticket`. `current` may be null.
  // `feed` and `ticket` must outlive the Scope.
  class Scope {
   public:
    Scope(CurrentRead* current, const Feed& feed, const Ticket& ticket);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    CurrentRead* current_;
  };

 private:
  mutable std::mutex mutex_;
  const Feed* feed_ = nullptr;  // null between reads
  const Ticket* ticket_ = nullptr;
  std::chrono::steady_clock::time_point since_;
};

// Use one object per thread. The arguments of the constructor must outlive it.
class Worker {
 public:
  // `indexes` and `current` may be null.
  Worker(const LoaderOptions& options, BadImageLog& log, jpeg::IndexStore* indexes = nullptr,
         CurrentRead* current = nullptr);

  struct Result {
    // Hash of position, key, label, pixels (of the first view), the partner's key and lambda; 0
    // unless options.hash.
    uint64_t hash = 0;
    int64_t bad = 0;     // 1 if the image at this position is damaged, else 0
    bool ended = false;  // the stream ended before this position; nothing was made
  };

  // Makes row `index` of a batch from the image at `position`. Writes the image, or all its views,
  // to `pixels`. If the image is damaged, training uses a replacement (throws std::runtime_error if
  // all replacements are damaged too), and evaluation sets row.unreadable. With BadImages::error, a
  // damaged image causes DamagedImage with its name instead. Also throws what Feed::ticket() and
  // Feed::read() throw, and MissingLibrary (image/formats.h).
  Result make(const Feed& feed, int64_t position, int32_t index, Row& row, uint8_t* pixels);

 private:
  void follow(const Feed& feed, int64_t position);
  void announce(const Feed& feed, int64_t position);
  void begin_row(const Feed& feed, const Ticket& ticket, int32_t index, Row& row) const;
  void finish_bad(Row& row, uint8_t* pixels) const;
  int64_t image_bytes() const { return side_ * side_ * options_.transform.channels; }
  std::span<const uint8_t> read(const Feed& feed, const Ticket& ticket);
  bool decode(const Feed& feed, const Ticket& ticket, uint8_t* pixels);
  void training_row(const Feed& feed, const Ticket& ticket, std::span<const uint8_t> bytes,
                    uint8_t* pixels);
  void replace(const Feed& feed, const Ticket& ticket, Row& row, uint8_t* pixels);
  uint64_t hash(const Feed& feed, int64_t position, const Row& row, const uint8_t* pixels) const;

  const LoaderOptions& options_;
  BadImageLog& log_;
  Transform transform_;
  jpeg::IndexStore* indexes_;
  CurrentRead* current_;
  std::vector<uint8_t> buffer_;  // holds the encoded image
  jpeg::SeekIndex index_;
  const Progression sides_;
  MixOptions mix_;  // with mixup and cutmix scaled by the strength of the epoch
  int64_t side_;
};

}  // namespace shoal::data
