#pragma once
// The loader turns a source of images into batches, using its own threads.
//
// Contract
// * One consumer: call start_epoch(), next(), stats(), has_batches() and count_rest() from one
//   thread.
// * The global order depends only on the dataset, the options and the epoch. Batch i of rank r
//   consists of the positions [i*B*W + r*B, i*B*W + (r+1)*B) of this order, where B = batch_size
//   and W = world_size. Thread count and timing change nothing. Every rank gets the same number of
//   batches: floor(size / (B*W)) in training, ceil(size / (B*W)) in evaluation, and at most
//   LoaderOptions::batches. In evaluation the last batch of a rank can have fewer than B images,
//   even 0.
// * Pixels are a pure function of seed, epoch and sample. If an epoch uses a sample several times,
//   or draws the image size for each step, they also depend on the position.
// * A batch is valid until next() or start_epoch() is called or the loader is destroyed.
//   Images are uint8, count×views×H×W×C, where C is 3 (RGB) or 1 (gray). Their memory comes from
//   the given allocator (pinned for a GPU).
// * Damaged images: in training, the next readable sample of the global order replaces the image.
//   In evaluation, the row is marked unreadable. LoaderStats::bad counts both. With
//   BadImages::error, next() throws an error that names the image instead. next() also re-throws
//   any other error of a worker (out of memory, a folder that was removed).
// * Streams (stream/stream.h): each rank reads its own stream, so the world size decides which
//   images form a batch. Within a rank, order and pixels are pure functions of seed, epoch and the
//   stream's order. A spare image of the stream (StreamEpoch::kSpares) replaces a damaged one.
// * An empty dataset is allowed in evaluation: its epochs have no batches.
// * The destructor may be called at any time. It waits at most 3 s for the workers. If a worker's
//   read has not returned by then, `on_bad` receives the name of the image, and the threads and the
//   memory that they use are abandoned.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "data/data_options.h"
#include "data/loader/batch.h"
#include "data/source.h"
#include "data/stage_clock.h"
#include "data/stream/epoch.h"

namespace shoal::data {

// Allocates and releases the memory of batches. Unless both functions are set, batches use heap
// memory aligned to 64 bytes.
struct BufferAllocator {
  std::function<void*(size_t bytes)> allocate;  // returns null if out of memory
  std::function<void(void*)> release;
  int64_t room_per_row = 0;  // scratch bytes per row, see Batch::room
};

// Returns `allocator` if it has both functions; otherwise an allocator of aligned heap memory.
BufferAllocator with_default(BufferAllocator allocator);

struct LoaderStats {
  int64_t images = 0;  // rows returned since start_epoch()
  int64_t bad = 0;     // number of these rows whose image is damaged
  // Hash of order, labels, pixels and mixing of the rows returned since start_epoch(). The sum over
  // all ranks (mod 2^64) is the hash of the epoch. 0 unless LoaderOptions::hash.
  uint64_t hash = 0;
};

class Loader {
 public:
  // `on_bad` receives a sentence about each damaged image (once, with its name), about seek indexes
  // that cannot be written, and about a read that has not returned when the loader is destroyed.
  // Workers, the constructor, start_epoch() and the destructor call it, so it must be thread-safe.
  // Throws std::invalid_argument for invalid options, and if there are fewer training images than
  // one batch of all ranks needs.
  Loader(const std::shared_ptr<const Source>& source, LoaderOptions options,
         std::function<void(const std::string&)> on_bad = {}, BufferAllocator allocator = {});
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Number of batches of an epoch on this rank (see the contract above). Streams:
  // LoaderOptions::batches, or a huge number if that is 0.
  int64_t batches_per_epoch() const;

  // Whether other ranks may have a different number of batches (streams, LoaderOptions::uneven).
  // Then the ranks must communicate to find out which of them still have data.
  bool uneven() const;
  // Whether the epoch has at least `count` whole batches, counted from its start. Streams: blocks
  // until that is known; returns false if `give_up` returns true first; throws what the stream
  // threw. Datasets: always true.
  bool has_batches(int64_t count, const std::function<bool()>& give_up = {});
  // Streams: call after the last batch of an epoch. Reads the rest of the stream, for at most
  // `patience` or until `give_up` returns true. Returns how many images were read in all, and
  // whether that is the whole stream. Datasets: reads nothing and returns {}.
  StreamCounts count_rest(std::chrono::milliseconds patience,
                          const std::function<bool()>& give_up = {});

  // Starts an epoch at batch `first_batch`. Datasets: keeps the prefetched batches if the previous
  // epoch was read to its end and this is the start of the next one. Otherwise discards them, and
  // blocks until the rows in progress are done. With first_batch == batches_per_epoch(), nothing is
  // left to read. Throws std::invalid_argument for a larger or negative first_batch.
  void start_epoch(int64_t epoch, int64_t first_batch = 0);

  // Returns the next batch, or nullptr after the last one. Throws what a worker threw.
  const Batch* next();

  LoaderStats stats() const;

  // Returns the name of the image at a position of an evaluation, for messages. A stream does not
  // keep names: returns "image N", where N is the number of this rank's images before `position`.
  // Any thread may call it.
  std::string image_name(int64_t position) const;

  // Returns the name of the image that a worker has been reading longest; empty if no worker is
  // reading. Any thread may call it.
  std::string slowest_read() const;

  // Times of the stages, summed over all threads since construction; zero unless
  // LoaderOptions::profile.
  StageTimes stage_times() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shoal::data
