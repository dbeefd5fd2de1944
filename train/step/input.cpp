#include "train/step/input.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace shoal::train {
namespace {

at::ScalarType scalar_type(ops::Type type) {
  switch (type) {
    case ops::Type::f64:
      return at::kDouble;
    case ops::Type::bf16:
      return at::kBFloat16;
    case ops::Type::f16:
      return at::kHalf;
    default:
      return at::kFloat;
  }
}

ops::MixRow mix_row(const data::Row& row) {
  ops::MixRow mix;
  mix.partner = row.partner;
  mix.lambda = row.blend ? row.lambda : 1.0f;  // cutmix weighs labels only; its pixels are whole
  std::copy(std::begin(row.box), std::end(row.box), mix.box);
  static_assert(sizeof(mix.erase) == sizeof(row.erase));
  std::memcpy(mix.erase, row.erase, sizeof(mix.erase));
  mix.erased = row.erased;
  mix.erase_fill = static_cast<ops::EraseFill>(row.erase_fill);
  mix.erase_key = row.key;
  return mix;
}

// What of a batch is not pixels.
struct Rows {
  std::vector<ops::MixRow> mix;
  bool special = false;  // mixed or erased
};

Rows read_rows(const data::Batch& batch, int64_t images_per_row, Input& input) {
  const int64_t n = batch.count / images_per_row;
  const auto row_of = [&](int64_t i) -> const data::Row& {
    return batch.rows[static_cast<size_t>(i * images_per_row)];
  };
  Rows rows;
  rows.mix.resize(static_cast<size_t>(n));
  input.labels.a = at::empty({n}, at::kInt);
  auto* a = input.labels.a.mutable_data_ptr<int32_t>();
  bool mixed = false;
  for (int64_t i = 0; i < n; ++i) {
    const data::Row& row = row_of(i);
    a[i] = row.label;
    input.keys.push_back(row.key);
    rows.mix[static_cast<size_t>(i)] = mix_row(row);
    mixed |= row.partner != i * images_per_row;
    rows.special |= mixed || row.erased > 0;
    if (row.unreadable) ++input.unreadable;
  }
  if (mixed) {
    input.labels.b = at::empty({n}, at::kInt);
    input.labels.lambda = at::empty({n}, at::kFloat);
    for (int64_t i = 0; i < n; ++i) {
      const data::Row& row = row_of(i);
      input.labels.b.mutable_data_ptr<int32_t>()[i] =
          batch.rows[static_cast<size_t>(row.partner)].label;
      input.labels.lambda.mutable_data_ptr<float>()[i] = row.lambda;
    }
  }
  if (input.unreadable > 0) {
    for (int64_t i = 0; i < n; ++i) {
      if (!row_of(i).unreadable) input.readable.push_back(i);
    }
  }
  return rows;
}

// Enqueues the making of input.images from pixels and rows that lie where these shall lie.
void prepare(const data::Batch& batch, ops::Type type, const ops::Table& table, at::Device device,
             int64_t images_per_row, const uint8_t* pixels, const ops::MixRow* mix, Input& input) {
  const int64_t n = batch.count / images_per_row;
  input.images = at::empty({n * batch.views, 3, batch.height, batch.width},
                           at::TensorOptions(device)
                               .dtype(scalar_type(type))
                               .memory_format(at::MemoryFormat::ChannelsLast));
  const ops::PrepareBatch job{pixels,
                              mix,
                              input.images.mutable_data_ptr(),
                              type,
                              n * batch.views,
                              batch.height,
                              batch.width,
                              {0.485f, 0.456f, 0.406f},
                              {0.229f, 0.224f, 0.225f},
                              images_per_row};
  if (n > 0) table.prepare_batch(job, models::stream_of(device));
}

static_assert(std::is_trivially_copyable_v<ops::MixRow>);
constexpr int64_t kAlignment = 16;

int64_t aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// A batch's images and what is written behind them, which go to the device together.
class Cargo {
 public:
  Cargo(const data::Batch& batch, int64_t pixel_bytes)
      : memory_(batch.images), size_(pixel_bytes), limit_(pixel_bytes + batch.room) {}

  // Returns where the bytes will stand.
  int64_t add(const void* bytes, size_t count) {
    const int64_t place = aligned(size_);
    size_ = place + static_cast<int64_t>(count);
    if (size_ > limit_) throw std::logic_error("a batch has no room for its labels");
    if (count > 0) std::memcpy(memory_ + place, bytes, count);
    return place;
  }
  void send(at::Device device) {
    const at::Tensor here = at::from_blob(memory_, {size_}, at::kByte);
    there_ = at::empty({size_}, at::TensorOptions(device).dtype(at::kByte));
    there_.copy_(here, /*non_blocking=*/true);
  }
  const uint8_t* bytes_at(int64_t place) const { return there_.const_data_ptr<uint8_t>() + place; }
  // The numbers of `like`, which stand there.
  at::Tensor tensor(int64_t place, const at::Tensor& like) const {
    const auto bytes = static_cast<int64_t>(like.nbytes());
    return there_.narrow(0, place, bytes).view(like.scalar_type());
  }

 private:
  uint8_t* memory_;
  int64_t size_, limit_;
  at::Tensor there_;
};

}  // namespace

int64_t room_per_row() {
  constexpr int64_t kMostParts = 4;  // mixing, labels, partners' labels, weights
  return sizeof(ops::MixRow) + 2 * sizeof(int32_t) + sizeof(float) + kMostParts * kAlignment;
}

Input make_input(const data::Batch& batch, ops::Type type, at::Device device,
                 int64_t images_per_row) {
  const ops::Table& table = models::operations(device);
  if (!device.is_cpu()) return make_input_there(batch, type, table, device, images_per_row);
  Input input;
  const Rows rows = read_rows(batch, images_per_row, input);
  prepare(batch, type, table, device, images_per_row, batch.images,
          rows.special ? rows.mix.data() : nullptr, input);
  return input;
}

Input make_input_there(const data::Batch& batch, ops::Type type, const ops::Table& table,
                       at::Device device, int64_t images_per_row) {
  Input input;
  const Rows rows = read_rows(batch, images_per_row, input);
  Cargo cargo(batch, batch.count * batch.views * batch.height * batch.width * 3);
  const int64_t mix =
      rows.special ? cargo.add(rows.mix.data(), rows.mix.size() * sizeof(ops::MixRow)) : 0;
  std::vector<std::pair<at::Tensor*, int64_t>> places;
  for (at::Tensor* tensor : {&input.labels.a, &input.labels.b, &input.labels.lambda})
    if (tensor->defined())
      places.emplace_back(tensor, cargo.add(tensor->const_data_ptr(), tensor->nbytes()));
  cargo.send(device);
  if (!device.is_cpu()) {
    input.batch_was_read.emplace(device.type());
    input.batch_was_read->record(models::current_stream(device));
  }
  for (const auto& [tensor, place] : places) *tensor = cargo.tensor(place, *tensor);
  prepare(batch, type, table, device, images_per_row, cargo.bytes_at(0),
          rows.special ? reinterpret_cast<const ops::MixRow*>(cargo.bytes_at(mix)) : nullptr,
          input);
  return input;
}

}  // namespace shoal::train
