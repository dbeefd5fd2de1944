#include "data/stream/epoch.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "base/process/block_signals.h"
#include "data/stream/pipe_source.h"

namespace shoal::data {
namespace {

constexpr std::chrono::milliseconds kAskAgain(100);

}  // namespace

StreamEpoch::StreamEpoch(std::function<std::unique_ptr<RecordStream>()> open,
                         std::function<void()> interrupt, const EpochRequest& request,
                         int64_t ready)
    : request_(request), ready_(std::max<int64_t>(ready, 1)), interrupt_(std::move(interrupt)) {
  begin_ = request.first;
  const BlockSignals block;
  reader_ = std::jthread([this, open = std::move(open)] { read_all(open); });
}

StreamEpoch::~StreamEpoch() {
  abandon();
}

void StreamEpoch::abandon() {
  interrupt_();
  const std::lock_guard lock(mutex_);
  abandoned_ = true;
  changed_.notify_all();
}

void StreamEpoch::end() {
  abandon();
  if (reader_.joinable()) reader_.join();
}

void StreamEpoch::read_all(const std::function<std::unique_ptr<RecordStream>()>& open) {
  std::exception_ptr error;
  bool complete = false;
  try {
    const std::unique_ptr<RecordStream> stream = open();
    bool wanted = true;
    while (wanted && !complete) {
      auto image = std::make_shared<StreamImage>();
      complete = !stream->next(*image);
      if (!complete) wanted = take(std::move(image));
    }
    while (!coming_.empty() && wanted) wanted = publish(coming_.size() - 1);
  } catch (const Interrupted&) {
  } catch (const std::invalid_argument& damage) {  // damaged data is not a user error
    error = std::make_exception_ptr(std::runtime_error(damage.what()));
  } catch (...) {
    error = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  error_ = error;
  complete_ = complete;
  if (next_ < request_.first) begin_ = next_;  // the stream ended before image `first`
  ended_ = true;
  changed_.notify_all();
}

// Adds the next image of the stream to coming_. Publishes coming_.front() if the kSpares images
// after it have been read. Returns false if no more images are wanted.
bool StreamEpoch::take(std::shared_ptr<const StreamImage> image) {
  coming_.push_back(std::move(image));
  return coming_.size() <= kSpares || publish(kSpares);
}

// Makes coming_.front() available to draw(), with spares that can replace it if it is damaged.
// Spares are the `ahead` images after it. If these are fewer than kSpares, images before it are
// spares, too. Blocks while enough images are ready. Returns false if no more images are wanted.
bool StreamEpoch::publish(size_t ahead) {
  Drawn drawn{std::move(coming_.front()), {}};
  coming_.pop_front();
  size_t spare = 0;
  for (size_t i = 0; i < ahead; ++i) drawn.spares[spare++] = coming_[i];
  for (size_t i = 0; spare < kSpares && i < gone_.size(); ++i) drawn.spares[spare++] = gone_[i];
  gone_.push_front(drawn.image);
  if (gone_.size() > kSpares) gone_.pop_back();
  if (next_++ < request_.first) return true;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] {
    return abandoned_ || passing_ || static_cast<int64_t>(slots_.size()) < ready_ ||
           known() < wanted_;
  });
  if (abandoned_) return false;
  if (passing_)
    ++passed_;
  else
    slots_.emplace_back(std::move(drawn));
  changed_.notify_all();
  return request_.limit == 0 || next_ < request_.limit;
}

std::optional<StreamEpoch::Drawn> StreamEpoch::draw(int64_t index) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return abandoned_ || ended_ || index < known(); });
  if (abandoned_) return std::nullopt;
  if (index >= known()) {
    if (error_) std::rethrow_exception(error_);
    return std::nullopt;
  }
  auto& slot = slots_.at(static_cast<size_t>(index - begin_));
  auto drawn = std::exchange(slot, std::nullopt);
  for (; !slots_.empty() && !slots_.front(); ++begin_) slots_.pop_front();
  changed_.notify_all();
  return drawn;
}

bool StreamEpoch::has(int64_t count, const std::function<bool()>& give_up) {
  std::unique_lock lock(mutex_);
  wanted_ = std::max(wanted_, count);
  changed_.notify_all();
  const auto is_known = [&] { return abandoned_ || ended_ || known() >= count; };
  while (!changed_.wait_for(lock, kAskAgain, is_known))
    if (give_up && give_up()) return false;
  if (known() >= count) return true;
  if (error_ && !abandoned_) std::rethrow_exception(error_);
  return false;
}

void StreamEpoch::pass_rest(std::chrono::milliseconds patience,
                            const std::function<bool()>& give_up) {
  const auto end = std::chrono::steady_clock::now() + patience;
  std::unique_lock lock(mutex_);
  passing_ = true;
  changed_.notify_all();
  while (!changed_.wait_for(lock, kAskAgain, [&] { return abandoned_ || ended_; }))
    if (std::chrono::steady_clock::now() >= end || (give_up && give_up())) return;
}

StreamCounts StreamEpoch::counts() const {
  const std::lock_guard lock(mutex_);
  return {known() + passed_, complete_};
}

}  // namespace shoal::data
