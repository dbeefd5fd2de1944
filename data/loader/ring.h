#pragma once
// The ring of batch buffers (slots) that circulate between the workers and the consumer.
//
// A slot is opened for a new batch when the consumer no longer needs the old one. Workers take rows
// of open slots in order. The consumer takes batches in order, each as soon as its last row is
// done. The consumer holds one batch; `batches_ahead` more are finished or in progress. At the end
// of an epoch, these are the first batches of the next epoch (`following` in restart()).

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "data/loader/batch.h"
#include "data/loader/feed.h"
#include "data/loader/loader.h"
#include "data/loader/worker.h"

namespace shoal::data {

class Ring {
 public:
  // Allocates all memory; throws std::bad_alloc. `sides`: schedule of the images' height and width.
  // `like`: has the views, channels and normalization of every batch.
  Ring(const BatchPlan& plan, const Progression& sides, int batches_ahead,
       const BufferAllocator& allocator, const Batch& like = {});

  // Consumer: starts an epoch. `following` is the feed of the epoch expected after it, if any.
  // Keeps the prefetched batches if the previous epoch was read to its end and this is the expected
  // epoch from batch 0 on. Otherwise waits for rows in progress (a few milliseconds, unless storage
  // is slow) and discards all prefetched batches.
  void restart(std::shared_ptr<const Feed> feed, int64_t first_batch,
               std::shared_ptr<const Feed> following = nullptr);
  // Consumer: waits for the next batch and returns it; nullptr after the last one. Re-throws what a
  // worker threw for this batch. If a stream ends within a batch: returns the rows that exist, or
  // nullptr with BatchPlan::drop_last.
  const Batch* next();
  // Consumer: returns the totals of all batches returned since restart().
  const LoaderStats& stats() const { return stats_; }

  // Makes take() return false in all workers.
  void close();

  // One row that a worker must make.
  struct Job {
    std::shared_ptr<const Feed> feed;
    int64_t batch = 0, position = 0;
    int32_t index = 0;
    Row* row = nullptr;
    uint8_t* pixels = nullptr;
  };
  // Worker: waits for a row to make. Returns false after close().
  bool take(Job& job);
  // Worker: call done() when the row is made, or failed() when making it threw `error`.
  void done(const Job& job, const Worker::Result& result);
  void failed(const Job& job, std::exception_ptr error);

 private:
  struct Slot {
    Batch batch;
    std::vector<Row> rows;
    std::unique_ptr<uint8_t, std::function<void(void*)>> images;
    int64_t left = 0;          // number of rows not yet done
    Worker::Result sum;        // sum of the results of the finished rows
    std::exception_ptr error;  // error of the failed row with the lowest index; null if none
    int32_t error_index = 0;   // index of that row
    int64_t rows_made = 0;     // rows that have an image: all, unless a stream ends in the batch
  };
  // The batches of an epoch. Batches are numbered across epochs: batch i of this epoch has the
  // number origin + i; `end` is the number after its last batch.
  struct Span {
    std::shared_ptr<const Feed> feed;
    int64_t origin = 0, end = 0;
  };
  Span& span(int64_t batch) { return batch < current_.end ? current_ : following_; }
  bool is_expected(const Feed& feed, int64_t first_batch) const;
  Slot& slot(int64_t batch) { return slots_[static_cast<size_t>(batch) % slots_.size()]; }
  void open_batches();
  void finish_row(Slot& slot);

  const BatchPlan plan_;
  const Progression sides_;
  std::vector<Slot> slots_;
  LoaderStats stats_;  // used by the consumer only

  std::mutex mutex_;
  std::condition_variable work_, ready_, idle_;
  Span current_, following_;
  int64_t held_ = -1;                      // number of the batch that the consumer holds
  int64_t opened_ = 0;                     // number of the next batch that gets a slot
  int64_t take_batch_ = 0, take_row_ = 0;  // next row for a worker
  int64_t in_flight_ = 0;                  // number of rows in progress
  bool closed_ = false;
  bool ended_ = false;  // a stream has ended and its last batch was returned
};

}  // namespace shoal::data
