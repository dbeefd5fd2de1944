#include "train/step/input.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/round.h"
namespace shoal::train {
namespace {

at::ScalarType scalar_type(ops::Type type) {
  switch (type) {
    case ops::Type::f64:
      return at::kDouble;
    case ops::Type::bf16:
      return at::kBFloat16;
    default:
      return at::kFloat;
  }
}

ops::MixRow mix_row(const data::Row& row) {
  ops::MixRow mix;
  mix.partner = row.partner;
  mix.lambda = row.blend ? row.lambda : 1.0f;  // CutMix uses row.lambda only for the labels
  std::copy(std::begin(row.box), std::end(row.box), mix.box);
  static_assert(sizeof(mix.erase) == sizeof(row.erase));
  std::memcpy(mix.erase, row.erase, sizeof(mix.erase));
  mix.erased = row.erased;
  using Fill = data::EraseFill;  // the two enumerations have the same values
  static_assert(static_cast<int>(Fill::constant) == static_cast<int>(ops::EraseFill::constant) &&
                static_cast<int>(Fill::color) == static_cast<int>(ops::EraseFill::color) &&
                static_cast<int>(Fill::noise) == static_cast<int>(ops::EraseFill::noise));
  mix.erase_fill = static_cast<ops::EraseFill>(row.erase_fill);
  mix.erase_key = row.key;
  return mix;
}

// Mixing and erasing parameters of the rows, for ops::PrepareBatch.
struct RowData {
  std::vector<ops::MixRow> mix;
  bool mixed_or_erased = false;
};

RowData read_rows(const data::Batch& batch, int64_t images_per_row, Input& input) {
  const int64_t n = batch.count / images_per_row;
  const auto row_of = [&](int64_t i) -> const data::Row& {
    return batch.rows[static_cast<size_t>(i * images_per_row)];
  };
  RowData rows;
  rows.mix.resize(static_cast<size_t>(n));
  input.labels.a = at::empty({n}, at::kInt);
  input.keys = at::empty({n}, at::kLong);
  auto* keys = input.keys.mutable_data_ptr<int64_t>();
  auto* a = input.labels.a.mutable_data_ptr<int32_t>();
  bool mixed = false;
  for (int64_t i = 0; i < n; ++i) {
    const data::Row& row = row_of(i);
    a[i] = row.label;
    keys[i] = static_cast<int64_t>(row.key);
    rows.mix[static_cast<size_t>(i)] = mix_row(row);
    mixed |= row.partner != i * images_per_row;
    rows.mixed_or_erased |= mixed || row.erased > 0;
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

// Enqueues the computation of input.images from `pixels` and `mix`, which must be in memory of
// `device`. `mix` may be null: no mixing or erasing.
void prepare(const data::Batch& batch, ops::Type type, const ops::Table& table, at::Device device,
             int64_t images_per_row, const uint8_t* pixels, const ops::MixRow* mix, Input& input) {
  const int64_t n = batch.count / images_per_row;
  input.images = at::empty({n * batch.views, batch.channels, batch.height, batch.width},
                           at::TensorOptions(device)
                               .dtype(scalar_type(type))
                               .memory_format(at::MemoryFormat::ChannelsLast));
  ops::PrepareBatch job{.images = pixels,
                        .mix = mix,
                        .out = input.images.mutable_data_ptr(),
                        .type = type,
                        .n = n * batch.views,
                        .height = batch.height,
                        .width = batch.width,
                        .mean = {},
                        .std = {},
                        .each = images_per_row,
                        .channels = batch.channels};
  for (size_t c = 0; c < std::size(job.mean); ++c) {
    job.mean[c] = static_cast<float>(batch.normalization.mean[c]);
    job.std[c] = static_cast<float>(batch.normalization.std[c]);
  }
  if (n > 0) table.prepare_batch(job, models::stream_of(device));
}

static_assert(std::is_trivially_copyable_v<ops::MixRow>);
constexpr int64_t kAlignment = 16;

// Appends row data to a batch's images, in the scratch bytes after them (data::Batch::room), and
// uploads both in one copy.
class UploadBuffer {
 public:
  UploadBuffer(const data::Batch& batch, int64_t pixel_bytes)
      : memory_(batch.images), size_(pixel_bytes), limit_(pixel_bytes + batch.room) {}

  // Appends bytes. Returns their offset.
  int64_t add(const void* bytes, size_t count) {
    const int64_t offset = round_up(size_, kAlignment);
    size_ = offset + static_cast<int64_t>(count);
    if (size_ > limit_) throw std::logic_error("the batch has no room for its labels");
    if (count > 0) std::memcpy(memory_ + offset, bytes, count);
    return offset;
  }
  void upload(at::Device device) {
    const at::Tensor here = at::from_blob(memory_, {size_}, at::kByte);
    uploaded_ = at::empty({size_}, at::TensorOptions(device).dtype(at::kByte));
    uploaded_.copy_(here, /*non_blocking=*/true);
  }
  const uint8_t* bytes_at(int64_t offset) const {
    return uploaded_.const_data_ptr<uint8_t>() + offset;
  }
  // Returns the uploaded copy of `like` as a 1-D tensor. `offset`: what add() returned for `like`.
  at::Tensor tensor(int64_t offset, const at::Tensor& like) const {
    const auto bytes = static_cast<int64_t>(like.nbytes());
    return uploaded_.narrow(0, offset, bytes).view(like.scalar_type());
  }

 private:
  uint8_t* memory_;
  int64_t size_, limit_;
  at::Tensor uploaded_;
};

}  // namespace

int64_t room_per_row() {
  constexpr int64_t kMaxParts = 5;  // calls of UploadBuffer::add(): mix, keys, a, b, lambda
  return sizeof(ops::MixRow) + sizeof(uint64_t) + 2 * sizeof(int32_t) + sizeof(float) +
         kMaxParts * kAlignment;
}

Input make_input(const data::Batch& batch, ops::Type type, at::Device device,
                 int64_t images_per_row) {
  const ops::Table& table = models::operations(device);
  if (!device.is_cpu()) return make_input_on_device(batch, type, table, device, images_per_row);
  Input input;
  const RowData rows = read_rows(batch, images_per_row, input);
  prepare(batch, type, table, device, images_per_row, batch.images,
          rows.mixed_or_erased ? rows.mix.data() : nullptr, input);
  return input;
}

Input make_input_on_device(const data::Batch& batch, ops::Type type, const ops::Table& table,
                           at::Device device, int64_t images_per_row) {
  Input input;
  const RowData rows = read_rows(batch, images_per_row, input);
  UploadBuffer buffer(batch, batch.count * batch.views * batch.image_bytes());
  const int64_t mix =
      rows.mixed_or_erased ? buffer.add(rows.mix.data(), rows.mix.size() * sizeof(ops::MixRow)) : 0;
  std::vector<std::pair<at::Tensor*, int64_t>> offsets;
  for (at::Tensor* tensor : {&input.keys, &input.labels.a, &input.labels.b, &input.labels.lambda})
    if (tensor->defined())
      offsets.emplace_back(tensor, buffer.add(tensor->const_data_ptr(), tensor->nbytes()));
  buffer.upload(device);
  if (!device.is_cpu()) {
    input.batch_was_read.emplace(device.type());
    input.batch_was_read->record(models::current_stream(device));
  }
  for (const auto& [tensor, offset] : offsets) *tensor = buffer.tensor(offset, *tensor);
  prepare(
      batch, type, table, device, images_per_row, buffer.bytes_at(0),
      rows.mixed_or_erased ? reinterpret_cast<const ops::MixRow*>(buffer.bytes_at(mix)) : nullptr,
      input);
  return input;
}

}  // namespace shoal::train
