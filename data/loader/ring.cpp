#include "data/loader/ring.h"

#include <algorithm>
#include <utility>

namespace shoal::data {

Ring::Ring(const BatchPlan& plan, const Progression& sides, int batches_ahead,
           const BufferAllocator& allocator, const Batch& like)
    : plan_(plan), sides_(sides), slots_(static_cast<size_t>(batches_ahead) + 1) {
  for (Slot& slot : slots_) {
    const int64_t side = sides.largest_side();
    slot.batch = like;
    slot.batch.height = slot.batch.width = side;
    slot.batch.room = plan.batch_size * allocator.room_per_row;
    const auto bytes = static_cast<size_t>(plan.batch_size * like.views * slot.batch.image_bytes() +
                                           slot.batch.room);
    slot.images = {static_cast<uint8_t*>(allocator.allocate(bytes)), allocator.release};
    if (slot.images == nullptr) throw std::bad_alloc();
    slot.rows.resize(static_cast<size_t>(plan.batch_size));
    slot.batch.images = slot.images.get();
    slot.batch.capacity = plan.batch_size;
  }
}

bool Ring::is_expected(const Feed& feed, int64_t first_batch) const {
  return following_.feed && first_batch == 0 && held_ + 1 == current_.end &&
         following_.feed->epoch() == feed.epoch() && following_.feed->seed() == feed.seed();
}

void Ring::restart(std::shared_ptr<const Feed> feed, int64_t first_batch,
                   std::shared_ptr<const Feed> following) {
  std::unique_lock lock(mutex_);
  if (is_expected(*feed, first_batch)) {
    current_ = std::move(following_);
  } else {
    current_ = following_ = {};  // take() finds nothing more
    take_batch_ = opened_ = 0;
    idle_.wait(lock, [this] { return in_flight_ == 0; });
    current_ = {std::move(feed), 0, plan_.batches()};
    held_ = first_batch - 1;
    opened_ = take_batch_ = first_batch;
    take_row_ = 0;
  }
  const int64_t more = following ? plan_.batches() : 0;
  following_ = {std::move(following), current_.end, current_.end + more};
  stats_ = {};
  ended_ = false;
  open_batches();
}

// Opens the next batches as long as slots are free. The slot of the batch that the consumer holds
// is not free. Call with the lock held.
void Ring::open_batches() {
  const auto slots = static_cast<int64_t>(slots_.size());
  bool opened = false;
  // A slot is free once its batch is older than the batch that the consumer holds. At the start the
  // consumer holds no batch, so one more slot could be opened; that is not worth a special case.
  for (; opened_ < following_.end && opened_ < held_ + slots; ++opened_, opened = true) {
    Slot& s = slot(opened_);
    // take_batch_ may still be the slot's old batch although all of its rows are taken: take()
    // advances it only in the next call, by comparing take_row_ with the batch's row count. Advance
    // it here, because the new batch overwrites this count.
    if (take_batch_ == opened_ - slots) ++take_batch_, take_row_ = 0;
    const int64_t batch = opened_ - span(opened_).origin;
    s.batch.count = s.left = s.rows_made = plan_.count(batch);
    s.batch.rows = {s.rows.data(), static_cast<size_t>(s.batch.count)};
    s.batch.first_position = plan_.first_position(batch);
    const Feed& feed = *span(opened_).feed;
    s.batch.height = s.batch.width = sides_.side(feed.epoch(), s.batch.first_position);
    s.sum = {};
    s.error = nullptr;
  }
  if (opened) work_.notify_all();
}

const Batch* Ring::next() {
  std::unique_lock lock(mutex_);
  if (ended_ || held_ + 1 >= current_.end) return nullptr;
  ++held_;
  open_batches();
  Slot& s = slot(held_);
  ready_.wait(lock, [&s] { return s.left == 0; });
  if (s.error) {
    --held_;  // the next call throws again
    std::rethrow_exception(s.error);
  }
  if (s.rows_made < s.batch.count) {
    ended_ = true;
    if (plan_.drop_last || s.rows_made == 0) return nullptr;
    s.batch.count = s.rows_made;
    s.batch.rows = s.batch.rows.first(static_cast<size_t>(s.rows_made));
  }
  stats_.images += s.batch.count;
  stats_.bad += s.sum.bad;
  stats_.hash += s.sum.hash;
  return &s.batch;
}

void Ring::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  work_.notify_all();
}

bool Ring::take(Job& job) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (closed_) return false;
    while (take_batch_ < opened_ && take_row_ >= slot(take_batch_).batch.count) {
      ++take_batch_;
      take_row_ = 0;
    }
    if (take_batch_ < opened_) break;
    work_.wait(lock);
  }
  Slot& s = slot(take_batch_);
  job.feed = span(take_batch_).feed;
  job.batch = take_batch_;
  job.index = static_cast<int32_t>(take_row_);
  job.position = s.batch.first_position + take_row_;
  job.row = &s.rows[static_cast<size_t>(take_row_)];
  job.pixels = s.batch.images + take_row_ * s.batch.views * s.batch.image_bytes();
  ++take_row_;
  ++in_flight_;
  return true;
}

void Ring::done(const Job& job, const Worker::Result& result) {
  const std::lock_guard lock(mutex_);
  Slot& s = slot(job.batch);
  s.sum.bad += result.bad;
  s.sum.hash += result.hash;
  if (result.ended) s.rows_made = std::min<int64_t>(s.rows_made, job.index);
  finish_row(s);
}

void Ring::failed(const Job& job, std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  Slot& s = slot(job.batch);
  if (!s.error || job.index < s.error_index) {
    s.error = std::move(error);
    s.error_index = job.index;
  }
  finish_row(s);
}

void Ring::finish_row(Slot& slot) {
  if (--slot.left == 0) ready_.notify_one();
  if (--in_flight_ == 0) idle_.notify_one();
}

}  // namespace shoal::data
