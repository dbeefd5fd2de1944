#include "data/loader/worker.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/hash.h"
#include "data/errors.h"
#include "data/loader/mix.h"
#include "data/loader/stage_clock.h"
#include "data/random.h"

namespace shoal::data {
namespace {

// Damaged images in a row: the data as a whole is broken.
constexpr int64_t kMaxReplacements = 1000;

}  // namespace

Worker::Worker(const LoaderOptions& options, BadImageLog& log, jpeg::IndexStore* indexes)
    : options_(options),
      log_(log),
      transform_(options.transform),
      indexes_(indexes),
      sides_(options.sides()),
      mix_(options.mix),
      side_(options.train ? options.transform.size : options.transform.eval_size) {}

Worker::Result Worker::make(const Feed& feed, int64_t position, int32_t index, Row& row,
                            uint8_t* pixels) {
  if (feed.stream() != nullptr) return make_streamed(feed, position, index, row, pixels);
  feed.announce(position, [this, &feed](int64_t first, int64_t count) {
    feed.dataset().will_read(first, count);
    if (indexes_) indexes_->will_read(first, count);
  });
  if (options_.train) follow(feed, position);
  const Ticket ticket = feed.ticket(position);
  Result result;
  begin_row(feed, position, index, row);
  row.label = ticket.label;
  if (!decode(feed, ticket.sample, ticket.key, pixels)) {
    result.bad = 1;
    if (options_.train)
      replace(feed, ticket, row, pixels);
    else
      finish_bad(row, pixels);
  }
  if (options_.hash) result.hash = hash(feed, position, row, pixels);
  return result;
}

// Everything but the label, which a stream tells later.
void Worker::begin_row(const Feed& feed, int64_t position, int32_t index, Row& row) const {
  row = Row{};
  row.key = feed.key(position);
  row.partner = index;
  if (options_.train)
    mix_row(mix_, {feed.seed(), feed.epoch(), position, index, row.key, side_, side_}, row);
}

void Worker::finish_bad(Row& row, uint8_t* pixels) const {
  row.unreadable = true;
  std::memset(pixels, 0,
              static_cast<size_t>(count_of(options_.transform.eval_views) * side_ * side_ * 3));
}

Worker::Result Worker::make_streamed(const Feed& feed, int64_t position, int32_t index, Row& row,
                                     uint8_t* pixels) {
  Result result;
  if (options_.train) follow(feed, position);
  const auto drawn = feed.stream()->draw(feed.sample(position));
  if (!drawn) return {.ended = true};
  begin_row(feed, position, index, row);
  row.label = drawn->image->label;
  if (!decode_streamed(*drawn->image, row.key, pixels)) {
    result.bad = 1;
    if (!options_.train) {
      finish_bad(row, pixels);
    } else {
      const auto good = std::find_if(
          drawn->spares.begin(), drawn->spares.end(),
          [&](const auto& spare) { return spare && decode_streamed(*spare, row.key, pixels); });
      if (good == drawn->spares.end())
        throw std::runtime_error(drawn->image->name +
                                 " and the images around it in the stream are all damaged");
      row.label = (*good)->label;
    }
  }
  if (options_.hash) result.hash = hash(feed, position, row, pixels);
  return result;
}

// Takes on the size and the strength that hold at `position`.
void Worker::follow(const Feed& feed, int64_t position) {
  const double strength = sides_.strength(feed.epoch());
  side_ = sides_.side(feed.epoch(), position);
  transform_.set(side_, strength);
  mix_.mixup = options_.mix.mixup * strength;
  mix_.cutmix = options_.mix.cutmix * strength;
}

bool Worker::decode_streamed(const StreamImage& image, uint64_t key, uint8_t* pixels) {
  const auto number = [&] {
    return static_cast<int64_t>(
        hash_bytes(image.name.data(), static_cast<int64_t>(image.name.size())));
  };
  try {
    if (!image.damage.empty()) throw DamagedImage(image.damage);
    lap(Stage::read);
    if (options_.train)
      transform_.training_row(image.bytes, key, pixels);
    else
      transform_.evaluation_row(image.bytes, pixels);
    image_done(static_cast<int64_t>(image.bytes.size()));
    return true;
  } catch (const DamagedImage& damage) {
    return damaged(number(), image.name + ": " + damage.what());
  }
}

// False when the image is damaged.
bool Worker::decode(const Feed& feed, int64_t sample, uint64_t key, uint8_t* pixels) {
  try {
    feed.dataset().read(sample, bytes_);
    lap(Stage::read);
    if (options_.train)
      training_row(feed.dataset(), sample, key, pixels);
    else
      transform_.evaluation_row(bytes_, pixels);
    image_done(static_cast<int64_t>(bytes_.size()));
    return true;
  } catch (const DamagedImage& damage) {
    return damaged(sample, feed.dataset().name(sample) + ": " + damage.what());
  }
}

// Says so, or ends the run; returns false.
bool Worker::damaged(int64_t sample, const std::string& sentence) {
  if (options_.bad_images == BadImages::error) throw DamagedImage(sentence);
  log_.report(sample, sentence);
  return false;
}

// With the image's index, or making it.
void Worker::training_row(const Dataset& dataset, int64_t sample, uint64_t key, uint8_t* pixels) {
  if (dataset.keeps_indexes()) {
    if (!dataset.seek_index(sample, index_)) index_.clear();
    lap(Stage::read);
    return transform_.training_row(bytes_, key, pixels, &index_);
  }
  using Answer = jpeg::IndexStore::Answer;
  const Answer answer = indexes_ ? indexes_->find(sample, bytes_, index_) : Answer::unwanted;
  lap(Stage::read);
  if (answer == Answer::unwanted) return transform_.training_row(bytes_, key, pixels);
  const size_t known = index_.size();
  transform_.training_row(bytes_, key, pixels, &index_);
  // A whole index is not extended: this one was of another file, or there was none.
  if (index_.size() != known && transform_.complete_index(index_))
    indexes_->add(sample, bytes_, index_);
  lap(Stage::entropy);
}

// Takes the next good sample of the global order under the ticket's key, so the result does not
// depend on what other rows have met.
void Worker::replace(const Feed& feed, const Ticket& ticket, Row& row, uint8_t* pixels) {
  const int64_t tries = std::min(feed.size() - 1, kMaxReplacements);
  for (int64_t i = 1; i <= tries; ++i) {
    const int64_t sample = feed.sample((ticket.position + i) % feed.size());
    if (!decode(feed, sample, ticket.key, pixels)) continue;
    row.label = feed.dataset().label(sample);
    return;
  }
  throw std::runtime_error(feed.dataset().name(ticket.sample) + " and the " +
                           std::to_string(tries) +
                           " images after it in the epoch's order are all damaged");
}

uint64_t Worker::hash(const Feed& feed, int64_t position, const Row& row,
                      const uint8_t* pixels) const {
  uint64_t value = combine(static_cast<uint64_t>(position), row.key);
  value = combine(value, static_cast<uint64_t>(row.label));
  value = combine(value, hash_bytes(pixels, side_ * side_ * 3));
  const bool mixed = options_.train && mix_.mixes();
  value = combine(value, mixed ? feed.key(position ^ 1) : row.key);
  return combine(value, std::bit_cast<uint32_t>(row.lambda));
}

}  // namespace shoal::data
