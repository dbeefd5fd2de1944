#include "data/loader/worker.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "base/hash.h"
#include "data/errors.h"
#include "data/loader/mix.h"
#include "data/random.h"
#include "data/stage_clock.h"

namespace shoal::data {

CurrentRead::Scope::Scope(CurrentRead* current, const Feed& feed, const Ticket& ticket)
    : current_(current) {
  if (!current_) return;
  const std::lock_guard lock(current_->mutex_);
  current_->feed_ = &feed;
  current_->ticket_ = &ticket;
  current_->since_ = std::chrono::steady_clock::now();
}

CurrentRead::Scope::~Scope() {
  if (!current_) return;
  const std::lock_guard lock(current_->mutex_);
  current_->feed_ = nullptr;
}

std::optional<std::pair<std::string, std::chrono::steady_clock::time_point>> CurrentRead::get()
    const {
  const std::lock_guard lock(mutex_);
  if (!feed_) return std::nullopt;
  return std::pair(feed_->name(*ticket_), since_);
}

Worker::Worker(const LoaderOptions& options, BadImageLog& log, jpeg::IndexStore* indexes,
               CurrentRead* current)
    : options_(options),
      log_(log),
      transform_(options.transform),
      indexes_(indexes),
      current_(current),
      sides_(options.sides()),
      mix_(options.mix),
      side_(options.train ? options.transform.size : options.transform.eval_size) {}

Worker::Result Worker::make(const Feed& feed, int64_t position, int32_t index, Row& row,
                            uint8_t* pixels) {
  announce(feed, position);
  if (options_.train) follow(feed, position);
  const std::optional<Ticket> ticket = feed.ticket(position);
  if (!ticket) return {.ended = true};
  begin_row(feed, *ticket, index, row);
  Result result;
  if (!decode(feed, *ticket, pixels)) {
    result.bad = 1;
    if (options_.train)
      replace(feed, *ticket, row, pixels);
    else
      finish_bad(row, pixels);
  }
  if (options_.hash) result.hash = hash(feed, position, row, pixels);
  return result;
}

// Prefetches images. Opening an image may block if the storage hangs, so this stores the image in
// current_: Loader::slowest_read() can then name it.
void Worker::announce(const Feed& feed, int64_t position) {
  struct {  // one capture, so that std::function allocates no memory
    Worker& worker;
    const Feed& feed;
    Ticket next;
    std::optional<CurrentRead::Scope> scope;
  } state{*this, feed, {}, {}};
  feed.announce(position, [&state](int64_t first, int64_t count) {
    state.scope.reset();
    state.next.sample = first;
    state.scope.emplace(state.worker.current_, state.feed, state.next);
    if (state.worker.indexes_) state.worker.indexes_->will_read(first, count);
  });
}

void Worker::begin_row(const Feed& feed, const Ticket& ticket, int32_t index, Row& row) const {
  row = Row{};
  row.label = ticket.label;
  row.key = ticket.key;
  row.partner = index;
  if (options_.train)
    mix_row(mix_, {feed.seed(), feed.epoch(), ticket.position, index, row.key, side_, side_}, row);
}

void Worker::finish_bad(Row& row, uint8_t* pixels) const {
  row.unreadable = true;
  std::memset(pixels, 0,
              static_cast<size_t>(count_of(options_.transform.eval_views) * image_bytes()));
}

// Sets the image size for `position`, and the epoch's strength of augmentation, mixup and cutmix.
void Worker::follow(const Feed& feed, int64_t position) {
  const double strength = sides_.strength(feed.epoch());
  side_ = sides_.side(feed.epoch(), position);
  transform_.set(side_, strength);
  mix_.mixup = options_.mix.mixup * strength;
  mix_.cutmix = options_.mix.cutmix * strength;
}

// Returns false if the image is damaged. With BadImages::error, throws DamagedImage instead.
bool Worker::decode(const Feed& feed, const Ticket& ticket, uint8_t* pixels) {
  try {
    const std::span<const uint8_t> bytes = read(feed, ticket);
    lap(Stage::read);
    if (options_.train)
      training_row(feed, ticket, bytes, pixels);
    else
      transform_.evaluation_row(bytes, pixels);
    image_done(static_cast<int64_t>(bytes.size()));
    return true;
  } catch (const DamagedImage& damage) {
    const std::string name = feed.name(ticket);
    if (options_.bad_images == BadImages::error) throw DamagedImage(name + ": " + damage.what());
    log_.report(name, std::string(damage.what()) +
                          (options_.train ? "; another image is used instead" : ""));
    return false;
  }
}

std::span<const uint8_t> Worker::read(const Feed& feed, const Ticket& ticket) {
  const CurrentRead::Scope scope(current_, feed, ticket);
  return feed.read(ticket, buffer_);
}

// Makes a training row. Uses the image's seek index, or builds and stores it if it is missing.
void Worker::training_row(const Feed& feed, const Ticket& ticket, std::span<const uint8_t> bytes,
                          uint8_t* pixels) {
  if (feed.seek_index(ticket, index_)) {
    lap(Stage::read);
    return transform_.training_row(bytes, ticket.key, pixels, &index_);
  }
  using Answer = jpeg::IndexStore::Answer;
  const Answer answer = indexes_ ? indexes_->find(ticket.sample, bytes, index_) : Answer::unwanted;
  lap(Stage::read);
  if (answer == Answer::unwanted) return transform_.training_row(bytes, ticket.key, pixels);
  const size_t known = index_.size();
  transform_.training_row(bytes, ticket.key, pixels, &index_);
  // A complete index does not grow. A changed size means that the index was missing or belonged to
  // another file.
  if (index_.size() != known && transform_.complete_index(index_))
    indexes_->add(ticket.sample, bytes, index_);
  lap(Stage::entropy);
}

void Worker::replace(const Feed& feed, const Ticket& ticket, Row& row, uint8_t* pixels) {
  int64_t attempt = 1;
  for (; const auto other = feed.replacement(ticket, attempt); ++attempt) {
    if (!decode(feed, *other, pixels)) continue;
    row.label = other->label;
    return;
  }
  throw std::runtime_error(feed.name(ticket) + " and the " + std::to_string(attempt - 1) +
                           " images that could replace it are all damaged");
}

uint64_t Worker::hash(const Feed& feed, int64_t position, const Row& row,
                      const uint8_t* pixels) const {
  uint64_t value = combine(static_cast<uint64_t>(position), row.key);
  value = combine(value, static_cast<uint64_t>(row.label));
  value = combine(value, hash_bytes(pixels, image_bytes()));
  const bool mixed = options_.train && mix_.mixes();
  value = combine(value, mixed ? feed.key(position ^ 1) : row.key);
  return combine(value, std::bit_cast<uint32_t>(row.lambda));
}

}  // namespace shoal::data
