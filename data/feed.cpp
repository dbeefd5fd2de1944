#include "data/feed.h"

#include <utility>

#include "data/random.h"

namespace shoal::data {

Feed::Feed(std::shared_ptr<const Dataset> dataset, uint64_t seed, int64_t epoch, bool shuffled)
    : dataset_(std::move(dataset)),
      seed_(seed),
      epoch_(epoch),
      shuffled_(shuffled),
      order_(dataset_->size(), seed, epoch) {}

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
