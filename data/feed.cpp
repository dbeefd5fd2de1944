#include "data/feed.h"

#include <algorithm>
#include <utility>

#include "data/random.h"

namespace shoal::data {

Feed::Feed(std::shared_ptr<const Dataset> dataset, uint64_t seed, int64_t epoch, bool shuffled,
           Order order)
    : dataset_(std::move(dataset)),
      seed_(seed),
      epoch_(epoch),
      shuffled_(shuffled),
      random_(dataset_->size(), seed, epoch) {
  if (shuffled && order == Order::chunked) chunked_.emplace(dataset_->size(), seed, epoch);
}

void Feed::announce(int64_t position) const {
  if (!chunked_ || position % ChunkedOrder::kChunk != 0) return;
  const auto [first, count] = chunked_->ahead(position);
  const int64_t before_end = std::min(count, size() - first);
  if (before_end > 0) dataset_->will_read(first, before_end);
  if (count > before_end) dataset_->will_read(0, count - before_end);
}

uint64_t Feed::key(int64_t position) const {
  return sample_key(seed_, epoch_, sample(position));
}

Ticket Feed::ticket(int64_t position) const {
  Ticket ticket;
  ticket.position = position;
  ticket.sample = sample(position);
  ticket.key = sample_key(seed_, epoch_, ticket.sample);
  ticket.label = dataset_->label(ticket.sample);
  return ticket;
}

}  // namespace shoal::data
