#include "data/loader/ring.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>

#include "tests/data/support.h"

using namespace shoal::data;

namespace {

constexpr int64_t kSide = 2, kBatch = 4;
const Progression kSides{.size = kSide};
const BatchPlan kPlan{20, kBatch, 0, 1, true};  // five batches

BufferAllocator heap() {
  return {[](size_t bytes) { return ::operator new(bytes); },
          [](void* memory) { ::operator delete(memory); }};
}

std::shared_ptr<const Feed> feed(int64_t epoch = 0) {
  static const auto data = made_dataset(20);
  return std::make_shared<const DatasetFeed>(data, 1, epoch, true);
}

std::vector<Ring::Job> take(Ring& ring, int64_t rows) {
  std::vector<Ring::Job> jobs;
  for (int64_t i = 0; i < rows; ++i) REQUIRE(ring.take(jobs.emplace_back()));
  return jobs;
}

void finish(Ring& ring, const std::vector<Ring::Job>& jobs) {
  for (const Ring::Job& job : jobs) ring.done(job, {});
}

std::exception_ptr error(const char* text) {
  return std::make_exception_ptr(std::runtime_error(text));
}

}  // namespace

TEST_CASE("rows are handed out in order, each with its own memory") {
  Ring ring(kPlan, kSides, 2, heap());
  const auto epoch = feed();
  ring.restart(epoch, 0);
  const auto jobs = take(ring, 2 * kBatch);
  std::set<const void*> rows, pixels;
  for (int64_t i = 0; i < 2 * kBatch; ++i) {
    const Ring::Job& job = jobs[static_cast<size_t>(i)];
    CHECK(job.feed == epoch);
    CHECK(job.batch == i / kBatch);
    CHECK(job.index == i % kBatch);
    CHECK(job.position == i);
    rows.insert(job.row);
    pixels.insert(job.pixels);
  }
  CHECK(rows.size() == 2 * kBatch);
  CHECK(pixels.size() == 2 * kBatch);
  CHECK(jobs[1].pixels - jobs[0].pixels == kSide * kSide * 3);
  finish(ring, jobs);
}

TEST_CASE("a batch is complete when its last row is done, in any order") {
  Ring ring(kPlan, kSides, 2, heap());
  ring.restart(feed(), 0);
  const auto jobs = take(ring, 2 * kBatch);
  auto first = std::async(std::launch::async, [&ring] { return ring.next(); });
  for (size_t i = jobs.size(); i-- > 0;) {
    jobs[i].row->label = static_cast<int32_t>(i);
    ring.done(jobs[i], {100 + i, i == 2 ? 1 : 0});
  }
  const Batch* batch = first.get();
  REQUIRE(batch != nullptr);
  CHECK(batch->images == jobs[0].pixels);
  CHECK(batch->count == kBatch);
  CHECK(batch->first_position == 0);
  CHECK(batch->rows[3].label == 3);
  CHECK(ring.stats().images == kBatch);
  CHECK(ring.stats().bad == 1);
  CHECK(ring.stats().hash == 100 + 101 + 102 + 103);
  batch = ring.next();
  CHECK(batch->first_position == kBatch);
  CHECK(batch->rows[0].label == 4);
  CHECK(ring.stats().images == 2 * kBatch);
}

TEST_CASE("a slot is reused only after the consumer has released it") {
  Ring ring(kPlan, kSides, 2, heap());
  ring.restart(feed(), 0);
  std::vector<const uint8_t*> images;  // memory of batch 0, 1, …
  auto jobs = take(ring, 2 * kBatch);  // two slots: two batches before the first next()
  images = {jobs[0].pixels, jobs[kBatch].pixels};
  finish(ring, jobs);
  for (int64_t held = 0; held < 3; ++held) {
    const Batch* batch = ring.next();
    REQUIRE(batch->images == images[static_cast<size_t>(held)]);
    jobs = take(ring, kBatch);  // the batch for which next() released a slot
    CHECK(jobs[0].batch == held + 2);
    CHECK(jobs[0].pixels != batch->images);
    images.push_back(jobs[0].pixels);
    finish(ring, jobs);
  }
  CHECK(images[3] == images[0]);
  CHECK(images[4] == images[1]);
  CHECK(ring.next() != nullptr);
  CHECK(ring.next() != nullptr);
  CHECK(ring.next() == nullptr);
  CHECK(ring.next() == nullptr);
}

TEST_CASE("every call of next() throws the error of the lowest row") {
  Ring ring(kPlan, kSides, 1, heap());
  ring.restart(feed(), 0);
  auto jobs = take(ring, kBatch);
  ring.failed(jobs[3], error("row three"));
  ring.failed(jobs[1], error("row one"));
  ring.failed(jobs[2], error("row two"));
  ring.done(jobs[0], {});
  CHECK_THROWS_WITH(ring.next(), "row one");
  CHECK_THROWS_WITH(ring.next(), "row one");
  CHECK(ring.stats().images == 0);
  jobs = take(ring, kBatch);  // the workers continue with the next batch
  finish(ring, jobs);

  ring.restart(feed(), 0);
  finish(ring, take(ring, kBatch));
  CHECK(ring.next() != nullptr);
}

TEST_CASE("a restart waits for rows in progress and discards them") {
  Ring ring(kPlan, kSides, 2, heap());
  ring.restart(feed(), 0);
  auto jobs = take(ring, 3);
  ring.done(jobs[0], {5, 1});
  auto restarted = std::async(std::launch::async, [&ring] { ring.restart(feed(1), 3); });
  CHECK(restarted.wait_for(std::chrono::milliseconds(100)) == std::future_status::timeout);
  ring.failed(jobs[1], error("too late"));
  ring.done(jobs[2], {});
  restarted.get();
  jobs = take(ring, kBatch);
  CHECK(jobs[0].feed->epoch() == 1);
  CHECK(jobs[0].position == 3 * kBatch);
  finish(ring, jobs);
  const Batch* batch = ring.next();
  REQUIRE(batch != nullptr);
  CHECK(batch->first_position == 3 * kBatch);
  CHECK(ring.stats().images == kBatch);
  CHECK(ring.stats().bad == 0);
  CHECK(ring.stats().hash == 0);
}

TEST_CASE("the first batches of the next epoch are made while the consumer holds the last batch") {
  const BatchPlan plan{2 * kBatch, kBatch, 0, 1, true};
  Ring ring(plan, kSides, 2, heap());
  ring.restart(feed(0), 0, feed(1));
  for (int i = 0; i < 2; ++i) {
    finish(ring, take(ring, kBatch));
    REQUIRE(ring.next() != nullptr);
  }
  const auto ahead = take(ring, 2 * kBatch);
  CHECK(ahead[0].feed->epoch() == 1);
  CHECK(ahead[0].position == 0);
  CHECK(ahead[kBatch].position == kBatch);
  CHECK(ring.next() == nullptr);  // the batches ahead belong to the next epoch
  CHECK(ring.next() == nullptr);
  finish(ring, {ahead.begin(), ahead.begin() + kBatch - 1});
  ring.done(ahead[kBatch - 1], {7, 1});

  ring.restart(feed(1), 0, feed(2));  // returns although a batch is in progress
  const Batch* batch = ring.next();
  REQUIRE(batch != nullptr);
  CHECK(batch->first_position == 0);
  CHECK(ring.stats().images == kBatch);
  CHECK(ring.stats().bad == 1);
  CHECK(ring.stats().hash == 7);
  finish(ring, {ahead.begin() + kBatch, ahead.end()});
  REQUIRE(ring.next() != nullptr);
  CHECK(ring.next() == nullptr);
  CHECK(take(ring, 1)[0].feed->epoch() == 2);
}

TEST_CASE("batches made ahead are discarded if another epoch starts") {
  const BatchPlan plan{kBatch, kBatch, 0, 1, true};
  Ring ring(plan, kSides, 2, heap());
  ring.restart(feed(0), 0, feed(1));
  finish(ring, take(ring, kBatch));
  REQUIRE(ring.next() != nullptr);
  finish(ring, take(ring, kBatch));
  ring.restart(feed(5), 0, feed(6));
  const auto jobs = take(ring, kBatch);
  CHECK(jobs[0].feed->epoch() == 5);
  finish(ring, jobs);
  CHECK(ring.next() != nullptr);
}

TEST_CASE("closing wakes workers that wait for a row") {
  constexpr int kWorkers = 4;
  for (int round = 0; round < 50; ++round) {
    Ring ring(kPlan, kSides, 1, heap());
    std::atomic<int> started = 0;
    std::vector<std::future<bool>> workers;
    for (int i = 0; i < kWorkers; ++i)
      workers.push_back(std::async(std::launch::async, [&ring, &started] {
        Ring::Job job;
        ++started;
        return ring.take(job);
      }));
    while (started < kWorkers) std::this_thread::yield();
    for (int i = 0; i < 100; ++i) std::this_thread::yield();  // take() is likely to wait now
    ring.close();
    for (std::future<bool>& worker : workers) CHECK_FALSE(worker.get());
  }
}

TEST_CASE("a rank without an image in the last batch gets an empty one") {
  Ring ring({3, kBatch, 1, 2, false}, kSides, 1, heap());
  ring.restart(feed(), 0);
  const Batch* batch = ring.next();
  REQUIRE(batch != nullptr);
  CHECK(batch->count == 0);
  CHECK(batch->rows.empty());
  CHECK(ring.next() == nullptr);
}

TEST_CASE("an allocator that returns null throws bad_alloc") {
  const BufferAllocator none{[](size_t) -> void* { return nullptr; }, [](void*) {}};
  CHECK_THROWS_AS(Ring(kPlan, kSides, 1, none), std::bad_alloc);
}

TEST_CASE("a late worker skips a short last batch whose slot already holds a new batch") {
  const BatchPlan plan{5, 2, 0, 1, false};  // batches of 2, 2 and 1 rows
  Ring ring(plan, kSides, 1, heap());
  ring.restart(feed(0), 0, feed(1));
  for (const int64_t rows : {2, 2, 1}) {
    finish(ring, take(ring, rows));
    REQUIRE(ring.next()->count == rows);
  }
  // No worker has called take() since the only row of the last batch was taken, so the ring still
  // looks for the next row in that batch. next() reuses its slot for the second batch of the next
  // epoch. take() must not mistake the second row of this new batch for a row of the old one.
  ring.restart(feed(1), 0, feed(2));
  auto waiting = std::async(std::launch::async, [&] { return ring.next()->count; });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // next() is likely to wait now
  for (const int64_t batch : {3, 4}) {
    const auto jobs = take(ring, 2);
    for (const Ring::Job& job : jobs) CHECK(job.batch == batch);
    CHECK(jobs[0].index == 0);
    CHECK(jobs[1].index == 1);
    finish(ring, jobs);
  }
  CHECK(waiting.get() == 2);
}
