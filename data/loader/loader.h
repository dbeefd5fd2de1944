#pragma once
// The loader turns a source into batches, on threads of its own.
//
// Contract
// * One consumer: start_epoch(), next() and stats() are called from one thread.
// * The order is a pure function of (seed, epoch, size): batch i of rank r holds the positions
//   [i*B*W + r*B, i*B*W + (r+1)*B) of the epoch's global order, B = batch_size, W = world_size.
//   Thread count and timing change nothing. Every rank yields the same number of batches:
//   floor(size / (B*W)) in training; ceil(size / (B*W)) in evaluation, where the last ones have
//   count < B, possibly 0.
// * Pixels are a pure function of (seed, epoch, sample).
// * A batch is valid until the next call of next() or start_epoch() or the end of the loader. Images
//   are uint8 count×H×W×3, RGB, in memory from the given allocator (pinned for a GPU).
// * Damaged images: in training, the row is made from the next readable sample of the global order,
//   and counted; in evaluation, it is marked unreadable. With BadImages::error, next() throws an
//   error that names the image. next() also re-throws any other error of a worker (out of memory, a
//   vanished folder).
// * Streams (stream/stream.h): each rank reads its own, so the world size decides which images form
//   a batch. Within a rank, order and pixels are pure functions of (seed, epoch, the stream's
//   order). A spare image of the stream replaces a damaged one.
// * An empty dataset is allowed in evaluation: its epochs have no batches.
// * The destructor joins the workers and may be called at any time.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "data/data_options.h"
#include "data/loader/batch.h"
#include "data/loader/stage_clock.h"
#include "data/source.h"
#include "data/stream/epoch.h"

namespace shoal::data {

// Memory for batches; `release` gets the pointer back. Default: aligned heap memory.
struct BufferAllocator {
  std::function<void*(size_t bytes)> allocate;
  std::function<void(void*)> release;
  int64_t room_per_row = 0;  // bytes per row, see Batch::room
};

struct LoaderStats {
  int64_t images = 0;  // rows handed out since start_epoch()
  int64_t bad = 0;     // damaged images that this rank has met since start_epoch()
  // Hash of order, labels, pixels and mixing of the rows handed out. Add those of all ranks
  // (mod 2^64) for the hash of the epoch.
  uint64_t hash = 0;
};

class Loader {
 public:
  // `on_bad` is called from worker threads: at most once per damaged sample, with a sentence that
  // names it; and if the folder of seek indexes cannot be written.
  Loader(const std::shared_ptr<const Source>& source, LoaderOptions options,
         std::function<void(const std::string&)> on_bad = {}, BufferAllocator allocator = {});
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Number of batches of an epoch on this rank, see above. Streams: LoaderOptions::batches, or a
  // huge number if that is 0.
  int64_t batches_per_epoch() const;

  // Whether other ranks may have another number of batches (streams, LoaderOptions::uneven), so that
  // ranks must agree on who still has data.
  bool uneven() const;
  // Whether the epoch has at least `count` whole batches, from its start. Streams: blocks until that
  // is known or `give_up` returns true; throws what the stream threw. Datasets: true.
  bool has_batches(int64_t count, const std::function<bool()>& give_up = {});
  // Streams, after the last batch of an epoch: reads on to count the images that nobody takes, for
  // at most `patience` or until `give_up` returns true.
  StreamCounts count_rest(std::chrono::milliseconds patience,
                          const std::function<bool()>& give_up = {});

  // Starts an epoch at batch `first_batch`. Discards prefetched batches, unless this is the start of
  // the epoch expected next.
  void start_epoch(int64_t epoch, int64_t first_batch = 0);

  // Returns the next batch, or nullptr after the last one. Throws what a worker threw.
  const Batch* next();

  LoaderStats stats() const;

  // Sum over all threads since construction; zero unless LoaderOptions::profile.
  StageTimes stage_times() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shoal::data
