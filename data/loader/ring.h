#pragma once
// The ring of batches that circulate between the workers and the consumer, and who may touch which
// row when.
//
// A batch's slot is open from the moment the consumer no longer needs what was in it. Workers take
// rows of open batches in order; the consumer takes batches in order, each when its last row is
// done. One batch is in the consumer's hands, `batches_ahead` more are finished or in the making;
// at an epoch's end these are the first ones of the epoch that is expected to follow.

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
  // Allocates all memory. sides: height and width of the images, `views` of them per row.
  Ring(const BatchPlan& plan, const Progression& sides, int batches_ahead,
       const BufferAllocator& allocator, int64_t views = 1);

  // Consumer: begins an epoch. `following`: of the epoch that is expected after it, if any. When
  // the one that begins was expected and the last one is through, its first batches are there
  // already; else what is under way is finished and thrown away (a few milliseconds).
  void restart(std::shared_ptr<const Feed> feed, int64_t first_batch,
               std::shared_ptr<const Feed> following = nullptr);
  // Consumer: blocks until the next batch is complete, nullptr behind the last. Re-throws what a
  // worker threw for it. Where a stream ends within a batch, that is handed out with the rows that
  // there are, unless the plan drops it.
  const Batch* next();
  // Consumer: sums over the batches handed out since restart().
  const LoaderStats& stats() const { return stats_; }

  // Ends take() in all workers.
  void close();

  // Worker: a row to be made, with everything needed for it; false when closed.
  struct Job {
    std::shared_ptr<const Feed> feed;
    int64_t batch = 0, position = 0;
    int32_t index = 0;
    Row* row = nullptr;
    uint8_t* pixels = nullptr;
  };
  bool take(Job& job);
  void done(const Job& job, const Worker::Result& result);
  void failed(const Job& job, std::exception_ptr error);

 private:
  struct Slot {
    Batch batch;
    std::vector<Row> rows;
    std::unique_ptr<uint8_t, std::function<void(void*)>> images;
    int64_t left = 0;  // rows not yet done
    Worker::Result sum;
    std::exception_ptr error;  // of the lowest row that failed
    int32_t error_index = 0;
    int64_t rows_made = 0;  // of them all, unless a stream has ended
  };
  // An epoch in the running numbers of batches: its batch i has number origin + i.
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
  const int64_t views_;
  std::vector<Slot> slots_;
  LoaderStats stats_;  // the consumer's alone

  std::mutex mutex_;
  std::condition_variable work_, ready_, idle_;
  Span current_, following_;
  int64_t held_ = -1;                      // batch in the consumer's hands
  int64_t opened_ = 0;                     // batches below have (had) a slot
  int64_t take_batch_ = 0, take_row_ = 0;  // next row to be given to a worker
  int64_t in_flight_ = 0;                  // rows being made
  bool closed_ = false;
  bool ended_ = false;  // a stream has ended; its last batch has been handed out
};

}  // namespace shoal::data
