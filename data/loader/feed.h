#pragma once
// A feed assigns an image and a random key to each position of an epoch's global order, and reads
// the images. Datasets and streams have a feed class each.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/round.h"
#include "data/data_options.h"
#include "data/dataset.h"
#include "data/jpeg/seek_index.h"
#include "data/loader/balance.h"
#include "data/order.h"
#include "data/stream/epoch.h"

namespace shoal::data {

// How the global order of an epoch is divided into batches: batch i of rank r consists of the
// positions [i*B*W + r*B, i*B*W + (r+1)*B), where B = batch_size and W = world_size.
struct BatchPlan {
  int64_t samples = 0, batch_size = 1, rank = 0, world_size = 1;
  bool drop_last = true;
  int64_t hosts = 1;  // number of hosts that read this order, each with its own page cache

  int64_t batches() const {
    const int64_t global = batch_size * world_size;
    return drop_last ? samples / global : ceil_divide(samples, global);
  }
  int64_t first_position(int64_t batch) const { return (batch * world_size + rank) * batch_size; }
  int64_t count(int64_t batch) const {
    const int64_t left = samples - first_position(batch);
    return left < 0 ? 0 : left < batch_size ? left : batch_size;
  }
  // number() returns how many of this rank's positions precede `position`, which must be one of
  // them. position() is the inverse of number().
  int64_t number(int64_t position) const {
    return position / (batch_size * world_size) * batch_size + position % batch_size;
  }
  int64_t position(int64_t number) const {
    return first_position(number / batch_size) + number % batch_size;
  }
};

// One image that a worker must turn into a batch row. Issued by a feed.
struct Ticket {
  int64_t position = 0;  // in the global order of the epoch, 0..n-1
  int64_t sample = 0;    // index into the dataset; streams: index among this rank's images
  uint64_t key = 0;      // seeds the random choices that concern only this image (crop, flip, …)
  int32_t label = 0;
  StreamEpoch::Drawn drawn;  // streams only: the image and its possible replacements
};

// Interface of DatasetFeed and StreamFeed. Thread-safe.
class Feed {
 public:
  Feed(uint64_t seed, int64_t epoch) : seed_(seed), epoch_(epoch) {}
  virtual ~Feed() = default;
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  uint64_t seed() const { return seed_; }
  int64_t epoch() const { return epoch_; }
  // Returns the random key of the image at `position`.
  virtual uint64_t key(int64_t position) const = 0;
  // Returns the image at `position`, which must be one of this rank's positions. Streams: call once
  // for each position. Blocks until the image has been read; returns nothing if the stream ends
  // before this image; throws what StreamEpoch::draw() throws.
  virtual std::optional<Ticket> ticket(int64_t position) const = 0;
  // Returns the image to use instead of a damaged one. Call with attempt 1, 2, … until an image is
  // readable. Returns nothing if no image is left to try. The replacement keeps the position and
  // the key, so a damaged image does not change other rows.
  virtual std::optional<Ticket> replacement(const Ticket& damaged, int64_t attempt) const = 0;
  // Returns the encoded image, stored either in `buffer` or in memory that lives as long as the
  // ticket. Throws DamagedImage, and what Dataset::read() throws.
  virtual std::span<const uint8_t> read(const Ticket& ticket,
                                        std::vector<uint8_t>& buffer) const = 0;
  virtual std::string name(const Ticket& ticket) const = 0;  // for messages
  // Reads the seek index that the source stores with the image into `index`; clears `index` if this
  // image has none. Call after read(). Returns false if the source stores no seek indexes.
  virtual bool seek_index(const Ticket& ticket, jpeg::SeekIndex& index) const = 0;

  using WillRead = std::function<void(int64_t first, int64_t count)>;  // gets a range of samples
  // Tells the dataset and `will_read` which images will be read soon. Call for each position of
  // this rank. Announces the image that this rank reads kAhead images later, which keeps the disk
  // busy for any number of threads. At the rank's first position in an epoch, announces the rank's
  // next kAhead images. (After a resume in the middle of an epoch, the first kAhead images are not
  // announced.) With chunked order on one host, announces whole chunks of the next window
  // (ChunkedOrder) instead. Only one rank announces each chunk. No earlier window announces the
  // first window, so its images are announced singly, as above. Streams: does nothing.
  virtual void announce(int64_t position, const WillRead& will_read) const = 0;
  static constexpr int64_t kAhead = 64;  // how far to announce ahead, in images of this rank

 private:
  uint64_t seed_;
  int64_t epoch_;
};

// The feed of a Dataset. Training: random order, from seed and epoch. Evaluation: listing order.
class DatasetFeed final : public Feed {
 public:
  // `shuffled`: true in training. `repeats`: how often each image appears in a training epoch. Each
  // block of 16 samples appears `repeats` times in a row, each time in another order. An epoch
  // keeps its number of samples, so it uses only the first 1/repeats of the order. `plan`: this
  // rank's positions, for announce(). `balance`: class-balanced sampling, or null; only with the
  // random order, without repeats.
  DatasetFeed(std::shared_ptr<const Dataset> dataset, uint64_t seed, int64_t epoch, bool shuffled,
              Order order = Order::random, int64_t repeats = 1, const BatchPlan& plan = {},
              std::shared_ptr<const ClassBalance> balance = {});

  int64_t size() const { return random_.size(); }
  int64_t sample(int64_t position) const { return find(position).sample; }
  uint64_t key(int64_t position) const override;
  std::optional<Ticket> ticket(int64_t position) const override;
  // Returns the sample `attempt` positions later in the order; nothing after 1000 attempts or a
  // whole epoch.
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
  ClassBalance::Drawn find(int64_t position) const;
  void announce_number(int64_t number, const WillRead& will_read) const;
  void announce_samples(int64_t first, int64_t count, const WillRead& will_read) const;

  std::shared_ptr<const Dataset> dataset_;
  bool shuffled_;
  int64_t repeats_;
  EpochOrder random_;
  std::optional<ChunkedOrder> chunked_;
  std::shared_ptr<const ClassBalance> balance_;
  BatchPlan plan_;
};

// The feed of one epoch of a Stream. The rank's nth position (BatchPlan::number()) gets the nth
// image that the rank reads. Keys depend on seed, epoch and position only.
class StreamFeed final : public Feed {
 public:
  StreamFeed(std::shared_ptr<StreamEpoch> stream, const BatchPlan& plan, uint64_t seed,
             int64_t epoch)
      : Feed(seed, epoch), stream_(std::move(stream)), plan_(plan) {}

  uint64_t key(int64_t position) const override;
  std::optional<Ticket> ticket(int64_t position) const override;
  // Returns spare image number `attempt`, counted from 1 (see StreamEpoch::kSpares).
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
