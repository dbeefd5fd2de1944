#include "train/input.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

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

Rows read_rows(const data::Batch& batch, int64_t pictures_per_row, Input& input) {
  const int64_t n = batch.count / pictures_per_row;
  const auto row_of = [&](int64_t i) -> const data::Row& {
    return batch.rows[static_cast<size_t>(i * pictures_per_row)];
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
    mixed |= row.partner != i * pictures_per_row;
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
             int64_t pictures_per_row, const uint8_t* pixels, const ops::MixRow* mix,
             Input& input) {
  const int64_t n = batch.count / pictures_per_row;
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
                              pictures_per_row};
  if (n > 0) table.prepare_batch(job, models::stream_of(device));
}

static_assert(std::is_trivially_copyable_v<ops::MixRow>);

at::Tensor empty_bytes(int64_t count, at::Device device) {
  return at::empty({count}, at::TensorOptions(device).dtype(at::kByte));
}

// What of a batch is not pixels, in one block of memory that the device gets in one copy.
class RowBlock {
 public:
  explicit RowBlock(at::Device device) : device_(device) {}

  // Notes bytes that have to go there; returns where they will stand.
  int64_t add(const void* bytes, size_t count) {
    const int64_t place = size_;
    parts_.push_back({bytes, count, place});
    size_ += static_cast<int64_t>((count + kAlignment - 1) / kAlignment * kAlignment);
    return place;
  }
  void send() {
    const at::Tensor here = empty_bytes(size_, at::kCPU);
    for (const auto& [bytes, count, place] : parts_)
      if (count > 0) std::memcpy(here.mutable_data_ptr<uint8_t>() + place, bytes, count);
    there_ = models::sent(here, device_);
  }
  const uint8_t* bytes_at(int64_t place) const { return there_.const_data_ptr<uint8_t>() + place; }
  // The numbers of `like`, which stand there.
  at::Tensor tensor(int64_t place, const at::Tensor& like) const {
    const auto bytes = static_cast<int64_t>(like.nbytes());
    return there_.narrow(0, place, bytes).view(like.scalar_type());
  }

 private:
  static constexpr size_t kAlignment = 16;
  struct Part {
    const void* bytes;
    size_t count;
    int64_t place;
  };

  at::Device device_;
  std::vector<Part> parts_;
  int64_t size_ = 0;
  at::Tensor there_;
};

}  // namespace

Input make_input(const data::Batch& batch, ops::Type type, at::Device device,
                 int64_t pictures_per_row) {
  const ops::Table& table = models::operations(device);
  if (!device.is_cpu()) return make_input_there(batch, type, table, device, pictures_per_row);
  Input input;
  const Rows rows = read_rows(batch, pictures_per_row, input);
  prepare(batch, type, table, device, pictures_per_row, batch.images,
          rows.special ? rows.mix.data() : nullptr, input);
  return input;
}

Input make_input_there(const data::Batch& batch, ops::Type type, const ops::Table& table,
                       at::Device device, int64_t pictures_per_row) {
  Input input;
  const int64_t bytes = batch.count * batch.views * batch.height * batch.width * 3;
  const at::Tensor host = at::from_blob(batch.images, {bytes}, at::kByte);
  const at::Tensor pixels = empty_bytes(bytes, device).copy_(host, /*non_blocking=*/true);
  if (!device.is_cpu()) {
    input.batch_was_read.emplace(device.type());
    input.batch_was_read->record(models::current_stream(device));
  }
  const Rows rows = read_rows(batch, pictures_per_row, input);
  RowBlock block(device);
  const int64_t mix =
      rows.special ? block.add(rows.mix.data(), rows.mix.size() * sizeof(ops::MixRow)) : 0;
  std::vector<std::pair<at::Tensor*, int64_t>> places;
  for (at::Tensor* tensor : {&input.labels.a, &input.labels.b, &input.labels.lambda})
    if (tensor->defined())
      places.emplace_back(tensor, block.add(tensor->const_data_ptr(), tensor->nbytes()));
  block.send();
  for (const auto& [tensor, place] : places) *tensor = block.tensor(place, *tensor);
  prepare(batch, type, table, device, pictures_per_row, pixels.const_data_ptr<uint8_t>(),
          rows.special ? reinterpret_cast<const ops::MixRow*>(block.bytes_at(mix)) : nullptr,
          input);
  return input;
}

}  // namespace shoal::train
