#pragma once
// A feed of tickets: which image stands at which place of an epoch's global order, and under
// which key.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/loader/batch.h"
#include "data/loader/order.h"
#include "data/stream/epoch.h"

namespace shoal::data {

// How an epoch's global order is cut into batches: batch i of rank r holds [i*B*W + r*B, i*B*W +
// (r+1)*B).
struct BatchPlan {
  int64_t samples = 0, batch_size = 1, rank = 0, world_size = 1;
  bool drop_last = true;
  int64_t hosts = 1;  // that share the order, each with a page cache of its own

  int64_t batches() const {
    const int64_t global = batch_size * world_size;
    return drop_last ? samples / global : (samples + global - 1) / global;
  }
  int64_t first_position(int64_t batch) const { return (batch * world_size + rank) * batch_size; }
  int64_t count(int64_t batch) const {
    const int64_t left = samples - first_position(batch);
    return left < 0 ? 0 : left < batch_size ? left : batch_size;
  }
  // How many positions of this rank come before `position`, one of its own; and the other way.
  int64_t number(int64_t position) const {
    return position / (batch_size * world_size) * batch_size + position % batch_size;
  }
  int64_t position(int64_t number) const {
    return first_position(number / batch_size) + number % batch_size;
  }
};

// The feed of a Dataset: keyed permutation in training, listing order in evaluation. Immutable; any
// thread.
class Feed {
 public:
  // `repeats`: of each image, in training. Sixteen images of the order stand there in turn,
  // then the same again with other neighbours, and so on; an epoch has as many places as without,
  // so the order's end is not reached. `plan` says which positions are this rank's, for announce().
  Feed(std::shared_ptr<const Dataset> dataset, uint64_t seed, int64_t epoch, bool shuffled,
       Order order = Order::random, int64_t repeats = 1, const BatchPlan& plan = {});

  // The feed of a stream's epoch: `plan` says which positions are this rank's; they are its numbers
  // one after the other, and each image's key is that of its position.
  Feed(std::shared_ptr<const Dataset> dataset, std::shared_ptr<StreamEpoch> stream,
       const BatchPlan& plan, uint64_t seed, int64_t epoch);

  int64_t size() const { return random_.size(); }
  uint64_t seed() const { return seed_; }
  int64_t epoch() const { return epoch_; }
  const Dataset& dataset() const { return *dataset_; }
  StreamEpoch* stream() const { return stream_.get(); }  // null: images can be read in any order

  int64_t sample(int64_t position) const {
    if (stream_) return plan_.number(position);
    if (!shuffled_) return position;
    const int64_t at = place(position).in_order;
    return chunked_ ? (*chunked_)(at) : random_(at);
  }
  // The key of the image at `position`.
  uint64_t key(int64_t position) const;
  // 0 <= position < size()
  Ticket ticket(int64_t position) const;
  using WillRead = std::function<void(int64_t first, int64_t count)>;  // of samples
  // Tells `will_read` what will be read later, when it is the turn of `position` to do so: of a
  // random order each image, kAhead before its turn (but for the first ones of an epoch that is
  // taken up in its middle), so that a disk has much to do at a time whatever the number of
  // threads; of a chunked order on one host the chunks that come, whole, each by one rank.
  void announce(int64_t position, const WillRead& will_read) const;
  static constexpr int64_t kAhead = 64;  // images of this rank

 private:
  struct Place {
    int64_t in_order = 0, repetition = 0;
  };
  Place place(int64_t position) const;
  void announce_number(int64_t number, const WillRead& will_read) const;

  std::shared_ptr<const Dataset> dataset_;
  uint64_t seed_;
  int64_t epoch_;
  bool shuffled_;
  int64_t repeats_;
  EpochOrder random_;
  std::optional<ChunkedOrder> chunked_;
  std::shared_ptr<StreamEpoch> stream_;
  BatchPlan plan_;
};

}  // namespace shoal::data
