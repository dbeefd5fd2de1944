#pragma once
// A feed says which image belongs to each position of an epoch's global order and under which
// random key, and reads it. There is one for each kind of source.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/loader/order.h"
#include "data/stream/epoch.h"

namespace shoal::data {

// How the global order of an epoch is cut into batches: batch i of rank r holds the positions
// [i*B*W + r*B, i*B*W + (r+1)*B), B = batch_size, W = world_size.
struct BatchPlan {
  int64_t samples = 0, batch_size = 1, rank = 0, world_size = 1;
  bool drop_last = true;
  int64_t hosts = 1;  // that share the order, each with its own page cache

  int64_t batches() const {
    const int64_t global = batch_size * world_size;
    return drop_last ? samples / global : (samples + global - 1) / global;
  }
  int64_t first_position(int64_t batch) const { return (batch * world_size + rank) * batch_size; }
  int64_t count(int64_t batch) const {
    const int64_t left = samples - first_position(batch);
    return left < 0 ? 0 : left < batch_size ? left : batch_size;
  }
  // Number of positions of this rank before `position`, which must be its own; and the inverse.
  int64_t number(int64_t position) const {
    return position / (batch_size * world_size) * batch_size + position % batch_size;
  }
  int64_t position(int64_t number) const {
    return first_position(number / batch_size) + number % batch_size;
  }
};

// One image to be made into a row: issued by a feed, carried out by a worker.
struct Ticket {
  int64_t position = 0;  // in the global order of the epoch, 0..n-1
  int64_t sample = 0;    // index into the dataset; of a stream, number of the image on this rank
  uint64_t key = 0;      // seeds all randomness of this image in this epoch
  int32_t label = 0;
  StreamEpoch::Drawn drawn;  // streams only: the image and its spares
};

// Immutable. Thread-safe.
class Feed {
 public:
  Feed(uint64_t seed, int64_t epoch) : seed_(seed), epoch_(epoch) {}
  virtual ~Feed() = default;
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  uint64_t seed() const { return seed_; }
  int64_t epoch() const { return epoch_; }
  // The key of the image at `position`.
  virtual uint64_t key(int64_t position) const = 0;
  // The image at `position`, which must be one of this rank's. Returns nothing if a stream ends
  // before it. Blocks until a stream has read that far, and throws what its reader threw.
  virtual std::optional<Ticket> ticket(int64_t position) const = 0;
  // The image that takes the place of a damaged one: the first one to try has `attempt` 1. It keeps
  // the key, so the result does not depend on what other rows have met. Nothing: no more.
  virtual std::optional<Ticket> replacement(const Ticket& damaged, int64_t attempt) const = 0;
  // Returns the encoded image: in `buffer`, or in memory that lives as long as the ticket. Throws
  // DamagedImage, and what Dataset::read throws.
  virtual std::span<const uint8_t> read(const Ticket& ticket,
                                        std::vector<uint8_t>& buffer) const = 0;
  virtual std::string name(const Ticket& ticket) const = 0;  // for messages
  // Reads the seek index that the source keeps with the image, empty if there is none for it; call
  // after read(). Returns false if the source keeps no indexes.
  virtual bool seek_index(const Ticket& ticket, jpeg::SeekIndex& index) const = 0;

  using WillRead = std::function<void(int64_t first, int64_t count)>;  // of samples
  // Announces to the dataset and to `will_read` the images to be read later, as far as it is up to
  // `position` to do so. Random order: each image kAhead before its turn (not for the first ones of
  // an epoch resumed in its middle), so that the disk has enough to do whatever the number of
  // threads. Chunked order on one host: whole chunks that come later, each announced by one rank.
  virtual void announce(int64_t position, const WillRead& will_read) const = 0;
  static constexpr int64_t kAhead = 64;  // images of this rank

 private:
  uint64_t seed_;
  int64_t epoch_;
};

// The feed of a Dataset: keyed permutation in training, listing order in evaluation.
class DatasetFeed final : public Feed {
 public:
  // `repeats`: how often each image appears, in training. Each block of 16 samples is repeated in
  // place, each time with different batch neighbours. An epoch keeps its number of samples, so it
  // uses only the first 1/repeats of the order. `plan`: this rank's positions, for announce().
  DatasetFeed(std::shared_ptr<const Dataset> dataset, uint64_t seed, int64_t epoch, bool shuffled,
              Order order = Order::random, int64_t repeats = 1, const BatchPlan& plan = {});

  int64_t size() const { return random_.size(); }
  int64_t sample(int64_t position) const {
    if (!shuffled_) return position;
    const int64_t at = place(position).in_order;
    return chunked_ ? (*chunked_)(at) : random_(at);
  }
  uint64_t key(int64_t position) const override;
  std::optional<Ticket> ticket(int64_t position) const override;
  // The next samples of the order.
  std::optional<Ticket> replacement(const Ticket& damaged, int64_t attempt) const override;
  std::span<const uint8_t> read(const Ticket& ticket, std::vector<uint8_t>& buffer) const override;
  std::string name(const Ticket& ticket) const override { return dataset_->name(ticket.sample); }
  bool seek_index(const Ticket& ticket, jpeg::SeekIndex& index) const override;
  void announce(int64_t position, const WillRead& will_read) const override;

 private:
  struct Place {
    int64_t in_order = 0, repetition = 0;
  };
  Place place(int64_t position) const;
  void announce_number(int64_t number, const WillRead& will_read) const;
  void announce_samples(int64_t first, int64_t count, const WillRead& will_read) const;

  std::shared_ptr<const Dataset> dataset_;
  bool shuffled_;
  int64_t repeats_;
  EpochOrder random_;
  std::optional<ChunkedOrder> chunked_;
  BatchPlan plan_;
};

// The feed of one epoch of a Stream: the positions of this rank are the numbers 0, 1, … of its
// images. Keys depend on the position.
class StreamFeed final : public Feed {
 public:
  StreamFeed(std::shared_ptr<StreamEpoch> stream, const BatchPlan& plan, uint64_t seed,
             int64_t epoch)
      : Feed(seed, epoch), stream_(std::move(stream)), plan_(plan) {}

  uint64_t key(int64_t position) const override;
  std::optional<Ticket> ticket(int64_t position) const override;
  // The spares of the image.
  std::optional<Ticket> replacement(const Ticket& damaged, int64_t attempt) const override;
  std::span<const uint8_t> read(const Ticket& ticket, std::vector<uint8_t>& buffer) const override;
  std::string name(const Ticket& ticket) const override { return ticket.drawn.image->name; }
  bool seek_index(const Ticket&, jpeg::SeekIndex&) const override { return false; }
  void announce(int64_t, const WillRead&) const override {}

 private:
  std::shared_ptr<StreamEpoch> stream_;
  BatchPlan plan_;
};

}  // namespace shoal::data
