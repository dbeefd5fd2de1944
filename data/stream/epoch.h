#pragma once
// The images that one rank draws in one epoch of a stream.
//
// A thread of its own reads the stream and keeps images ready; workers draw them by number, in
// any order. What belongs to a number is a pure function of the stream's order, seed and epoch:
// threads and timing change nothing.

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

#include "data/stream/record_stream.h"

namespace shoal::data {

// Asked for an epoch.
struct EpochRequest {
  uint64_t seed = 0;
  int64_t epoch = 0;
  bool shuffled = true;
  // This rank's numbers: the first one wanted (those before it are read and dropped), and how many
  // there are at most; 0: all there are.
  int64_t first = 0, limit = 0;
};

struct StreamCounts {
  // Images that could be drawn, with those before EpochRequest::first and those passed over.
  int64_t read = 0;
  bool complete = false;  // there are no more: the stream has been read to its end
};

class StreamEpoch {
 public:
  // Images that can take the place of a damaged one: those after it in the stream's order; at its
  // end, those before it.
  static constexpr size_t kSpares = 4;
  static constexpr int64_t kReadAhead = 256;  // images; the usual `ready`
  struct Drawn {
    std::shared_ptr<const StreamImage> image;
    std::array<std::shared_ptr<const StreamImage>, kSpares> spares;  // null: there is none
  };

  // `open` gives the stream and is called on the reading thread. `interrupt` makes a read of it
  // throw at once (Interrupted). `ready`: images that are kept ready.
  StreamEpoch(std::function<std::unique_ptr<RecordStream>()> open, std::function<void()> interrupt,
              const EpochRequest& request, int64_t ready);
  ~StreamEpoch();
  StreamEpoch(const StreamEpoch&) = delete;
  StreamEpoch& operator=(const StreamEpoch&) = delete;

  // Image number `index`, once: waits until it is there. Nothing: the epoch ended before it, or
  // was abandoned. Throws what the stream threw. Any thread.
  std::optional<Drawn> draw(int64_t index);
  // True when the epoch has images 0 … count-1: waits until that is known, or `give_up` says so,
  // which is asked ten times a second. Throws likewise.
  bool has(int64_t count, const std::function<bool()>& give_up = {});
  // Ends the reading and all waiting. Any thread.
  void abandon();
  // Likewise; on return the stream is no longer read. One thread.
  void end();
  // Passes over what was not published yet, up to the end of the epoch, so that counts() knows it:
  // waits until then, or as long as `patience`, or `give_up` says so. Whoever still draws gets what
  // was published, and then nothing. Does not throw what the stream threw: counts() is incomplete
  // then. Any thread.
  void pass_rest(std::chrono::milliseconds patience, const std::function<bool()>& give_up = {});
  StreamCounts counts() const;

 private:
  void read_all(const std::function<std::unique_ptr<RecordStream>()>& open);
  bool take(std::shared_ptr<const StreamImage> image);
  bool publish(size_t ahead);
  int64_t known() const { return begin_ + static_cast<int64_t>(slots_.size()); }

  const EpochRequest request_;
  const int64_t ready_;
  std::function<void()> interrupt_;

  // Of the reading thread.
  std::deque<std::shared_ptr<const StreamImage>> coming_,
      gone_;          // gone_: the last ones, newest first
  int64_t next_ = 0;  // number of coming_.front()

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::optional<Drawn>> slots_;  // of the numbers begin_ …; empty: has been drawn
  int64_t begin_ = 0, wanted_ = 0, passed_ = 0;
  bool ended_ = false, complete_ = false, abandoned_ = false, passing_ = false;
  std::exception_ptr error_;
  std::jthread reader_;  // last: joined first
};

}  // namespace shoal::data
