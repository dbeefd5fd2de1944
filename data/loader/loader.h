#pragma once
// The loader turns a dataset into batches, on threads of its own.
//
// Contract
// * One consumer: start_epoch(), next(), stats() are called from one thread. Workers are the
//   loader's business.
// * Order is a pure function of (seed, epoch, size): batch i of rank r holds the positions
//   [i*B*W + r*B, i*B*W + (r+1)*B) of the epoch's global order, B = batch_size, W = world_size.
//   Thread count and timing change nothing, and every rank yields the same number of batches:
//   floor(size / (B*W)) in training; in evaluation ceil(size / (B*W)), the last ones with
//   count < B, possibly 0.
// * Pixels are a pure function of (seed, epoch, sample).
// * A batch is valid until the next call of next() or start_epoch() or the loader's end. Images are
//   uint8 count×H×W×3, RGB, in memory from the allocator that was handed in (pinned where a GPU
//   waits).
// * Damaged images: in training the row is made from the next good sample of the global order and
//   counted; in evaluation the row is marked unreadable. With BadImages::error, the first one is
//   re-thrown from next() with its name. Any other error of a worker (out of memory, a vanished
//   directory) is re-thrown from next() too.
// * Of a stream (stream/epoch.h) each rank draws from its own, so that the world size decides which
//   images meet; within a rank order and pixels are pure functions of (seed, epoch, the stream's
//   order). A damaged image's row is made from one of its spares.
// * Destruction at any time joins the workers.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/loader/batch.h"
#include "data/loader/stage_clock.h"
#include "data/stream/epoch.h"

namespace shoal::data {

// Memory for batches; `release` is called with the same pointer. Defaults to aligned heap memory.
struct BufferAllocator {
  std::function<void*(size_t bytes)> allocate;
  std::function<void(void*)> release;
  int64_t room_per_row = 0;  // bytes, for Batch::room
};

struct LoaderStats {
  int64_t images = 0;  // rows handed out since start_epoch
  int64_t bad = 0;     // damaged images met since start_epoch, by this rank
  // Of order, labels, pixels and mixing of the rows handed out; sums (mod 2^64) over ranks.
  uint64_t hash = 0;
};

class Loader {
 public:
  // `on_bad` is called at most once per damaged sample, from a worker thread, with a sentence
  // naming it; and when the folder of indexes cannot be written.
  Loader(std::shared_ptr<const Dataset> dataset, LoaderOptions options,
         std::function<void(const std::string&)> on_bad = {}, BufferAllocator allocator = {});
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Batches of one epoch over the world: see above. Of a stream: LoaderOptions::batches, else more
  // than there can be.
  int64_t batches_per_epoch() const;

  // Other ranks may have another number of batches (a stream, LoaderOptions::uneven), so that they
  // must agree on who still has data.
  bool uneven() const;
  // Of a stream: true when the epoch has, from its start, so many whole batches; waits until that
  // is known or `give_up` says so. Throws what the stream threw. Else always true.
  bool has_batches(int64_t count, const std::function<bool()>& give_up = {});
  // Of a stream, after the epoch's last batch: counts the images that nobody takes, as far as they
  // come within `patience` and `give_up` does not say so.
  StreamCounts count_rest(std::chrono::milliseconds patience,
                          const std::function<bool()>& give_up = {});

  // Begins an epoch at batch `first_batch` (0: its start). Abandons what is under way, unless it is
  // the start of the epoch after one that is through: that has been begun in the meantime.
  void start_epoch(int64_t epoch, int64_t first_batch = 0);

  // The next batch, or nullptr after the last one. Throws what a worker threw.
  const Batch* next();

  LoaderStats stats() const;

  // Of all threads since the loader was made; zero without LoaderOptions::profile.
  StageTimes stage_times() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shoal::data
