#include "data/loader/feed.h"

#include <algorithm>
#include <utility>

#include "data/errors.h"
#include "data/random.h"

namespace shoal::data {
namespace {

constexpr int64_t kRepeatBlock = 16;  // samples per block that is repeated; a power of two
// Gives up after this many damaged replacements: the whole dataset is probably broken.
constexpr int64_t kMaxReplacements = 1000;

// Returns which sample of a block (0 … 15) is at place `i` of a repetition. Mixup and cutmix
// combine the places 2k and 2k + 1. In repetition r, the XOR of these two samples' indexes is
// r % 15 + 1, so a sample has a different partner in each of 15 repetitions.
int64_t paired(int64_t i, int64_t repetition) {
  const int64_t bits = repetition % (kRepeatBlock - 1) + 1, lowest = bits & -bits;
  const int64_t pair = i / 2, low = pair & (lowest - 1);
  // Inserts a 0 bit into `pair` at the position of the lowest 1 bit of `bits`. So each of the 16
  // samples is `first` or `first ^ bits` of exactly one pair.
  const int64_t first = (pair - low) * 2 + low;
  return i % 2 == 0 ? first : first ^ bits;
}

}  // namespace

DatasetFeed::DatasetFeed(std::shared_ptr<const Dataset> dataset, uint64_t seed, int64_t epoch,
                         bool shuffled, Order order, int64_t repeats, const BatchPlan& plan,
                         std::shared_ptr<const ClassBalance> balance)
    : Feed(seed, epoch),
      dataset_(std::move(dataset)),
      shuffled_(shuffled),
      repeats_(shuffled ? repeats : 1),
      random_(balance ? balance->length() : dataset_->size(), seed, epoch),
      balance_(std::move(balance)),
      plan_(plan) {
  if (shuffled && order == Order::chunked) chunked_.emplace(dataset_->size(), seed, epoch);
}

void DatasetFeed::announce(int64_t position, const WillRead& will_read) const {
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
  if (before_end > 0) announce_samples(first, before_end, will_read);
  if (count > before_end) announce_samples(0, count - before_end, will_read);
}

void DatasetFeed::announce_number(int64_t number, const WillRead& will_read) const {
  const int64_t position = plan_.position(number);
  if (number / plan_.batch_size >= plan_.batches() || position >= plan_.samples) return;
  if (place(position).repetition == 0) announce_samples(sample(position), 1, will_read);
}

DatasetFeed::Place DatasetFeed::place(int64_t position) const {
  if (repeats_ == 1) return {position, 0};
  const int64_t block = position / (kRepeatBlock * repeats_);
  const int64_t within = position % (kRepeatBlock * repeats_);
  const int64_t repetition = within / kRepeatBlock;
  const int64_t in_order = block * kRepeatBlock + paired(within % kRepeatBlock, repetition);
  return {in_order % size(), repetition};
}

// Returns the sample at `position`, and how often the epoch has used this sample before.
ClassBalance::Drawn DatasetFeed::find(int64_t position) const {
  if (!shuffled_) return {position, 0};
  const auto [at, repetition] = place(position);
  if (balance_) return balance_->draw(random_(at), epoch());
  return {chunked_ ? (*chunked_)(at) : random_(at), repetition};
}

void DatasetFeed::announce_samples(int64_t first, int64_t count, const WillRead& will_read) const {
  will_read(first, count);
  dataset_->will_read(first, count);
}

uint64_t DatasetFeed::key(int64_t position) const {
  const auto [found, repetition] = find(position);
  const uint64_t key = sample_key(seed(), epoch(), found);
  if (repetition == 0) return key;
  return combine(combine(key, static_cast<uint64_t>(Purpose::repetition)),
                 static_cast<uint64_t>(repetition));
}

std::optional<Ticket> DatasetFeed::ticket(int64_t position) const {
  const int64_t found = sample(position);
  return Ticket{position, found, key(position), dataset_->label(found), {}};
}

std::optional<Ticket> DatasetFeed::replacement(const Ticket& damaged, int64_t attempt) const {
  if (attempt > std::min(size() - 1, kMaxReplacements)) return std::nullopt;
  const int64_t found = sample((damaged.position + attempt) % size());
  return Ticket{damaged.position, found, damaged.key, dataset_->label(found), {}};
}

std::span<const uint8_t> DatasetFeed::read(const Ticket& ticket,
                                           std::vector<uint8_t>& buffer) const {
  dataset_->read(ticket.sample, buffer);
  return buffer;
}

bool DatasetFeed::seek_index(const Ticket& ticket, jpeg::SeekIndex& index) const {
  if (!dataset_->keeps_indexes()) return false;
  if (!dataset_->seek_index(ticket.sample, index)) index.clear();
  return true;
}

uint64_t StreamFeed::key(int64_t position) const {
  return sample_key(seed(), epoch(), position);
}

std::optional<Ticket> StreamFeed::ticket(int64_t position) const {
  const int64_t number = plan_.number(position);
  auto drawn = stream_->draw(number);
  if (!drawn) return std::nullopt;
  const int32_t label = drawn->image->label;
  return Ticket{position, number, key(position), label, std::move(*drawn)};
}

std::optional<Ticket> StreamFeed::replacement(const Ticket& damaged, int64_t attempt) const {
  const auto& spares = damaged.drawn.spares;
  const auto index = static_cast<size_t>(attempt - 1);
  if (index >= spares.size() || !spares[index]) return std::nullopt;
  return Ticket{
      damaged.position, damaged.sample, damaged.key, spares[index]->label, {spares[index], {}}};
}

std::span<const uint8_t> StreamFeed::read(const Ticket& ticket, std::vector<uint8_t>&) const {
  const StreamImage& image = *ticket.drawn.image;
  if (!image.damage.empty()) throw DamagedImage(image.damage);
  return image.bytes;
}

}  // namespace shoal::data
