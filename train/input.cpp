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

// A copy of bytes of the host; `device` may be the host. `wait`: until they have been read.
at::Tensor copy_there(const void* bytes, int64_t count, at::Device device, bool wait) {
  const at::Tensor host = at::from_blob(const_cast<void*>(bytes), {count}, at::kByte);
  const at::Tensor there = at::empty({count}, at::TensorOptions(device).dtype(at::kByte));
  return there.copy_(host, /*non_blocking=*/!wait);
}

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
  const at::Tensor pixels =
      copy_there(batch.images, batch.count * batch.views * batch.height * batch.width * 3, device,
                 /*wait=*/false);
  const Rows rows = read_rows(batch, pictures_per_row, input);
  at::Tensor mix;
  if (rows.special)
    mix = copy_there(rows.mix.data(), static_cast<int64_t>(rows.mix.size() * sizeof(ops::MixRow)),
                     device, /*wait=*/true);
  prepare(batch, type, table, device, pictures_per_row, pixels.const_data_ptr<uint8_t>(),
          mix.defined() ? static_cast<const ops::MixRow*>(mix.const_data_ptr()) : nullptr, input);
  for (at::Tensor* tensor : {&input.labels.a, &input.labels.b, &input.labels.lambda})
    if (tensor->defined()) *tensor = tensor->to(device);
  return input;
}

}  // namespace shoal::train
