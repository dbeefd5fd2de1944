#include "data/loader/feed.h"

#include <algorithm>
#include <utility>

#include "data/random.h"

namespace shoal::data {
namespace {

constexpr int64_t kTogether = 16;  // a power of two

// Which of the images that stand together is at place `i`. Places 2k and 2k + 1 are mixed: in
// repetition r they hold an image and the one whose number differs in the bits of r + 1, so that
// fifteen repetitions meet fifteen partners.
int64_t paired(int64_t i, int64_t repetition) {
  const int64_t bits = repetition % (kTogether - 1) + 1, lowest = bits & -bits;
  const int64_t pair = i / 2, low = pair & (lowest - 1);
  const int64_t first = (pair - low) * 2 + low;  // the pair's number with a zero at that bit
  return i % 2 == 0 ? first : first ^ bits;
}

}  // namespace

Feed::Feed(std::shared_ptr<const Dataset> dataset, uint64_t seed, int64_t epoch, bool shuffled,
           Order order, int64_t repeats, const BatchPlan& plan)
    : dataset_(std::move(dataset)),
      seed_(seed),
      epoch_(epoch),
      shuffled_(shuffled),
      repeats_(shuffled ? repeats : 1),
      random_(dataset_->size(), seed, epoch),
      plan_(plan) {
  if (shuffled && order == Order::chunked) chunked_.emplace(dataset_->size(), seed, epoch);
}

Feed::Feed(std::shared_ptr<const Dataset> dataset, std::shared_ptr<StreamEpoch> stream,
           const BatchPlan& plan, uint64_t seed, int64_t epoch)
    : dataset_(std::move(dataset)),
      seed_(seed),
      epoch_(epoch),
      shuffled_(false),
      repeats_(1),
      stream_(std::move(stream)),
      plan_(plan) {}

void Feed::announce(int64_t position, const WillRead& will_read) const {
  const Place at = place(position);
  const bool by_chunks = chunked_ && plan_.hosts == 1;
  if (!by_chunks || at.in_order < ChunkedOrder::kWindow) {
    const int64_t number = plan_.number(position);
    for (int64_t n = number == 0 ? 1 : number + kAhead; n <= number + kAhead; ++n)
      announce_number(n, will_read);
  }
  if (!by_chunks || at.repetition > 0 || at.in_order % ChunkedOrder::kChunk != 0) return;
  const auto [first, count] = chunked_->ahead(at.in_order);
  const int64_t before_end = std::min(count, size() - first);
  if (before_end > 0) will_read(first, before_end);
  if (count > before_end) will_read(0, count - before_end);
}

void Feed::announce_number(int64_t number, const WillRead& will_read) const {
  const int64_t position = plan_.position(number);
  if (number / plan_.batch_size >= plan_.batches() || position >= plan_.samples) return;
  if (place(position).repetition == 0) will_read(sample(position), 1);
}

Feed::Place Feed::place(int64_t position) const {
  if (repeats_ == 1) return {position, 0};
  const int64_t block = position / (kTogether * repeats_);
  const int64_t within = position % (kTogether * repeats_);
  const int64_t repetition = within / kTogether;
  const int64_t in_order = block * kTogether + paired(within % kTogether, repetition);
  return {in_order % size(), repetition};
}

uint64_t Feed::key(int64_t position) const {
  if (stream_) return sample_key(seed_, epoch_, position);
  const uint64_t key = sample_key(seed_, epoch_, sample(position));
  const int64_t repetition = shuffled_ ? place(position).repetition : 0;
  if (repetition == 0) return key;
  return combine(combine(key, static_cast<uint64_t>(Purpose::repetition)),
                 static_cast<uint64_t>(repetition));
}

Ticket Feed::ticket(int64_t position) const {
  Ticket ticket;
  ticket.position = position;
  ticket.sample = sample(position);
  ticket.key = key(position);
  ticket.label = dataset_->label(ticket.sample);
  return ticket;
}

}  // namespace shoal::data
