#pragma once
// The images of one epoch of a stream, on one rank.
//
// A reader thread reads ahead; workers draw images by number, in any order. The number of each
// image is a pure function of the stream's order, seed and epoch; threads and timing do not affect
// it.

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "data/container/record_stream.h"

namespace shoal::data {

// Parameters of an epoch.
struct EpochRequest {
  uint64_t seed = 0;
  int64_t epoch = 0;
  bool shuffled = true;
  // Only the images with numbers in [first, limit) are wanted. Those before `first` are read and
  // dropped. limit 0: no limit.
  int64_t first = 0, limit = 0;
};

struct StreamCounts {
  // Number of images read so far, including those before EpochRequest::first and those not drawn.
  int64_t read = 0;
  bool complete = false;  // the stream was read to its end
};

// All functions except end() are thread-safe.
class StreamEpoch {
 public:
  // Number of spares of each image: images that can replace it if it is damaged. Spares are the
  // next images of the stream; near the end of the stream, also the previous ones.
  static constexpr size_t kSpares = 4;
  static constexpr int64_t kReadAhead = 256;  // images; the usual value of `ready` below
  struct Drawn {
    std::shared_ptr<const StreamImage> image;
    std::array<std::shared_ptr<const StreamImage>, kSpares> spares;  // unused elements are null
  };

  // `open` opens the stream; the reader thread calls it. `interrupt` must make the current and all
  // later reads of the stream throw Interrupted; any thread may call it. `ready`: number of images
  // to read ahead.
  StreamEpoch(std::function<std::unique_ptr<RecordStream>()> open, std::function<void()> interrupt,
              const EpochRequest& request, int64_t ready);
  ~StreamEpoch();
  StreamEpoch(const StreamEpoch&) = delete;
  StreamEpoch& operator=(const StreamEpoch&) = delete;

  // Returns image number `index`; call only once for each index. Blocks until the image has been
  // read. Returns nothing if the epoch was abandoned or ended before this image. Throws what the
  // stream threw, but std::runtime_error instead of std::invalid_argument. Thread-safe.
  std::optional<Drawn> draw(int64_t index);
  // Whether the epoch has at least `count` images. Blocks until that is known. Returns false if
  // `give_up`, polled ten times a second, returns true first. Throws like draw().
  bool has(int64_t count, const std::function<bool()>& give_up = {});
  // Stops reading and wakes all waiting threads. Thread-safe.
  void abandon();
  // Calls abandon() and joins the reader thread. Call from one thread only.
  void end();
  // Reads the rest of the epoch without keeping its images, so that counts() includes them. Returns
  // at the end of the epoch, after `patience`, or when `give_up` returns true. Images that were
  // read ahead earlier can still be drawn. Does not throw if the stream throws; counts() then stays
  // incomplete. Thread-safe.
  void pass_rest(std::chrono::milliseconds patience, const std::function<bool()>& give_up = {});
  StreamCounts counts() const;

 private:
  void read_all(const std::function<std::unique_ptr<RecordStream>()>& open);
  bool take(std::shared_ptr<const StreamImage> image);
  bool publish(size_t ahead);
  // Number of images that are published or before EpochRequest::first.
  int64_t known() const { return begin_ + static_cast<int64_t>(slots_.size()); }

  const EpochRequest request_;
  const int64_t ready_;
  std::function<void()> interrupt_;

  // Used by the reader thread only.
  std::deque<std::shared_ptr<const StreamImage>> coming_;  // images not yet published
  std::deque<std::shared_ptr<const StreamImage>> gone_;    // last published images, newest first
  int64_t next_ = 0;                                       // image number of coming_.front()

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::optional<Drawn>> slots_;  // published images; nullopt if already drawn
  int64_t begin_ = 0;                       // image number of slots_.front()
  int64_t wanted_ = 0;                      // largest `count` of has()
  int64_t passed_ = 0;                      // images that pass_rest() has dropped
  bool ended_ = false, complete_ = false, abandoned_ = false, passing_ = false;
  std::exception_ptr error_;
  std::jthread reader_;  // last member, so that it is joined before the others are destroyed
};

}  // namespace shoal::data
