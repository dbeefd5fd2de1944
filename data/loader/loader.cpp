#include "data/loader/loader.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/process/block_signals.h"
#include "base/round.h"
#include "data/loader/bad_image_log.h"
#include "data/loader/mix.h"
#include "data/loader/ring.h"
#include "data/loader/transform.h"
#include "data/loader/worker.h"
#include "data/stream/stream.h"

namespace shoal::data {
namespace {

constexpr size_t kAlignment = 64;

constexpr std::chrono::seconds kJoinTimeout(3);  // how long the destructor waits for the workers

constexpr int64_t kEndless = int64_t{1} << 60;  // assumed length of a stream, in images

BatchPlan make_plan(const Source& source, const LoaderOptions& options) {
  BatchPlan plan = {source.access() == Access::random ? source.size() : kEndless,
                    options.batch_size,
                    options.rank,
                    options.world_size,
                    options.train,
                    options.hosts};
  const int64_t most = options.batches * options.batch_size * options.world_size;
  if (options.batches > 0) plan.samples = std::min(plan.samples, most);
  return plan;
}

LoaderOptions checked(LoaderOptions options, const Source& source) {
  check_transform(options.transform);
  check_mix(options.mix);
  require_valid(options.batch_size >= 1, "the batch size must be at least 1");
  require_valid(options.world_size >= 1 && options.rank >= 0 && options.rank < options.world_size,
                "the rank must be between 0 and the world size");
  require_valid(!options.train || !options.mix.mixes() || options.batch_size % 2 == 0,
                "mixup and cutmix mix images in pairs: the batch size must be even, not " +
                    std::to_string(options.batch_size));
  require_valid(
      options.repeats >= 1 && options.repeats <= 64,
      "an epoch can repeat each image 1 to 64 times, not " + std::to_string(options.repeats));
  const Progression& sides = options.progression;
  require_valid(
      sides.smallest == 0 || sides.images_per_step % (options.batch_size * options.world_size) == 0,
      "with multi-scale sizes, a step must consist of whole batches");
  require_valid(sides.smallest == 0 ||
                    (sides.smallest % Progression::kStep == 0 && sides.smallest <= sides.largest),
                "the smallest size must be a multiple of " + std::to_string(Progression::kStep) +
                    " pixels, and at most the largest");
  require_valid(source.access() == Access::random || options.repeats == 1,
                "images of a stream cannot be repeated within an epoch");
  require_valid(options.balance >= 0 && options.balance <= 1, "the balance must be from 0 to 1");
  require_valid(options.balance == 0 || (source.access() == Access::random &&
                                         options.order == Order::random && options.repeats == 1),
                "class-balanced sampling needs a dataset, the random order, and no repeats");
  require_valid(!options.train || make_plan(source, options).batches() > 0,
                "there are " + std::to_string(source.size()) +
                    " training images, fewer than one batch over all processes (" +
                    std::to_string(options.batch_size * options.world_size) +
                    "): lower the batch size");
  options.threads = std::max(options.threads, 1);
  options.batches_ahead = std::max(options.batches_ahead, 1);
  return options;
}

// Returns a batch without buffers. Sets only the fields that are the same in all batches: views,
// channels and normalization.
Batch format_of(const LoaderOptions& options) {
  Batch batch;
  batch.views = options.train ? 1 : count_of(options.transform.eval_views);
  batch.channels = options.transform.channels;
  batch.normalization = options.transform.normalization;
  return batch;
}

}  // namespace

BufferAllocator with_default(BufferAllocator allocator) {
  if (allocator.allocate && allocator.release) return allocator;
  allocator.allocate = [](size_t bytes) {
    return std::aligned_alloc(kAlignment, round_up(bytes, kAlignment));
  };
  allocator.release = [](void* memory) { std::free(memory); };
  return allocator;
}

struct Loader::Impl {
  // Exactly one of `dataset` and `stream` is set.
  std::shared_ptr<const Dataset> dataset;
  std::shared_ptr<const Stream> stream;
  LoaderOptions options;
  BatchPlan plan;
  std::shared_ptr<const ClassBalance> balance;  // null: no class-balanced sampling
  BadImageLog log;
  std::optional<jpeg::IndexStore> indexes;
  Ring ring;
  std::shared_ptr<StreamEpoch> stream_epoch;  // the current one
  std::vector<StageClock> clocks;             // one per thread, or none
  std::vector<CurrentRead> reads;             // one per thread
  std::mutex mutex;
  std::condition_variable thread_ended;
  size_t running = 0;                 // number of threads that have not ended
  std::vector<std::jthread> threads;  // declared last: joined before the others are destroyed

  Impl(const std::shared_ptr<const Source>& source, const LoaderOptions& requested,
       const std::function<void(const std::string&)>& warning, BufferAllocator allocator)
      : dataset(std::dynamic_pointer_cast<const Dataset>(source)),
        stream(std::dynamic_pointer_cast<const Stream>(source)),
        options(checked(requested, *source)),
        plan(make_plan(*source, options)),
        log(warning),
        ring(plan, options.sides(), options.batches_ahead, with_default(std::move(allocator)),
             format_of(options)),
        clocks(static_cast<size_t>(options.profile ? options.threads : 0)),
        reads(static_cast<size_t>(options.threads)) {
    if (options.train && !options.index_dir.empty() && dataset && !dataset->keeps_indexes())
      indexes.emplace(options.index_dir, dataset->size(), warning);
    if (options.train && options.balance > 0)
      balance = std::make_shared<const ClassBalance>(*dataset, options.balance, plan.samples,
                                                     options.seed);
    const BlockSignals block;
    try {
      for (int i = 0; i < options.threads; ++i) {
        {
          const std::lock_guard lock(mutex);
          ++running;
        }
        threads.emplace_back([this, i] { run(i); });
      }
    } catch (...) {
      ring.close();
      throw;
    }
  }

  ~Impl() { close(); }

  // Asks the workers to end, without waiting for them.
  void close() {
    ring.close();
    if (stream_epoch) stream_epoch->abandon();
  }

  // Waits until all workers have ended. Returns false after kJoinTimeout.
  bool wait_for_workers() {
    std::unique_lock lock(mutex);
    return thread_ended.wait_for(lock, kJoinTimeout, [this] { return running == 0; });
  }

  std::string slowest_read() const {
    std::string name;
    auto first = std::chrono::steady_clock::time_point::max();
    for (const CurrentRead& each : reads) {
      const auto read = each.get();
      if (read && read->second < first) std::tie(name, first) = *read;
    }
    return name;
  }

  void run(int number) {
    work(number);
    const std::lock_guard lock(mutex);
    --running;
    thread_ended.notify_one();
  }

  std::shared_ptr<const Feed> dataset_feed(int64_t epoch) const {
    const int64_t number = options.train ? epoch : 0;  // all evaluation epochs are the same
    return std::make_shared<const DatasetFeed>(dataset, options.seed, number, options.train,
                                               options.order, options.repeats, plan, balance);
  }

  void start_dataset(int64_t epoch, int64_t first_batch) {
    if (indexes) indexes->refresh();
    ring.restart(dataset_feed(epoch), first_batch, dataset_feed(epoch + 1));
  }

  void start_stream(int64_t epoch, int64_t first_batch) {
    if (stream_epoch) stream_epoch->end();  // first, so that no worker waits for the old epoch
    const EpochRequest request{options.seed, epoch, options.train, first_batch * options.batch_size,
                               options.batches * options.batch_size};
    stream_epoch = stream->begin_epoch(request);
    ring.restart(std::make_shared<const StreamFeed>(stream_epoch, plan, options.seed, epoch),
                 first_batch);
  }

  void work(int number) {
    if (!clocks.empty()) clocks[static_cast<size_t>(number)].attach();
    // Constructed inside the try block below, because its constructor may run out of memory.
    std::unique_ptr<Worker> worker;
    for (Ring::Job job; ring.take(job);) {
      lap(Stage::wait);
      try {
        if (!worker)
          worker = std::make_unique<Worker>(options, log, indexes ? &*indexes : nullptr,
                                            &reads[static_cast<size_t>(number)]);
        ring.done(job, worker->make(*job.feed, job.position, job.index, *job.row, job.pixels));
      } catch (...) {
        ring.failed(job, std::current_exception());
      }
    }
  }
};

Loader::Loader(const std::shared_ptr<const Source>& source, LoaderOptions options,
               std::function<void(const std::string&)> on_bad, BufferAllocator allocator)
    : impl_(std::make_unique<Impl>(source, options, on_bad, std::move(allocator))) {}

Loader::~Loader() {
  impl_->close();
  if (impl_->wait_for_workers()) return;
  const std::string image = impl_->slowest_read();
  impl_->log.report(image.empty() ? "the data loader" : image,
                    "its read has not returned; abandoned the thread that waits for it");
  impl_->log.stop();  // on_bad may refer to objects that no longer exist when the read returns
  for (std::jthread& thread : impl_->threads) thread.detach();
  static_cast<void>(impl_.release());  // never freed: the threads may use it until the process ends
}

int64_t Loader::batches_per_epoch() const {
  return impl_->plan.batches();
}

void Loader::start_epoch(int64_t epoch, int64_t first_batch) {
  if (first_batch < 0 || first_batch > batches_per_epoch())
    throw std::invalid_argument("batch " + std::to_string(first_batch) + " is not in an epoch of " +
                                std::to_string(batches_per_epoch()));
  if (impl_->stream)
    impl_->start_stream(epoch, first_batch);
  else
    impl_->start_dataset(epoch, first_batch);
}

const Batch* Loader::next() {
  return impl_->ring.next();
}

bool Loader::uneven() const {
  return impl_->options.uneven || impl_->stream;
}

bool Loader::has_batches(int64_t count, const std::function<bool()>& give_up) {
  return !impl_->stream_epoch ||
         impl_->stream_epoch->has(count * impl_->options.batch_size, give_up);
}

StreamCounts Loader::count_rest(std::chrono::milliseconds patience,
                                const std::function<bool()>& give_up) {
  if (!impl_->stream_epoch) return {};
  impl_->stream_epoch->pass_rest(patience, give_up);
  return impl_->stream_epoch->counts();
}

std::string Loader::slowest_read() const {
  return impl_->slowest_read();
}

std::string Loader::image_name(int64_t position) const {
  if (impl_->dataset) return impl_->dataset->name(position);
  return "image " + std::to_string(impl_->plan.number(position));
}

LoaderStats Loader::stats() const {
  return impl_->ring.stats();
}

StageTimes Loader::stage_times() const {
  StageTimes sum;
  for (const StageClock& clock : impl_->clocks) sum += clock.times();
  return sum;
}

}  // namespace shoal::data
