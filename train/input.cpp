#include "train/input.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>

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

}  // namespace

Input make_input(const data::Batch& batch, ops::Type type, const ops::Table& table,
                 int64_t pictures_per_row) {
  const int64_t n = batch.count / pictures_per_row;
  const auto row_of = [&](int64_t i) -> const data::Row& {
    return batch.rows[static_cast<size_t>(i * pictures_per_row)];
  };
  Input input;
  input.images = at::empty(
      {n * batch.views, 3, batch.height, batch.width},
      at::TensorOptions().dtype(scalar_type(type)).memory_format(at::MemoryFormat::ChannelsLast));
  input.labels.a = at::empty({n}, at::kInt);
  auto* a = input.labels.a.mutable_data_ptr<int32_t>();
  std::vector<ops::MixRow> mix(static_cast<size_t>(n));
  bool mixed = false, special = false;
  for (int64_t i = 0; i < n; ++i) {
    const data::Row& row = row_of(i);
    a[i] = row.label;
    input.keys.push_back(row.key);
    mix[static_cast<size_t>(i)] = mix_row(row);
    mixed |= row.partner != i * pictures_per_row;
    special |= mixed || row.erased > 0;
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
  ops::PrepareBatch job{batch.images,
                        special ? mix.data() : nullptr,
                        input.images.mutable_data_ptr(),
                        type,
                        n * batch.views,
                        batch.height,
                        batch.width,
                        {0.485f, 0.456f, 0.406f},
                        {0.229f, 0.224f, 0.225f},
                        pictures_per_row};
  if (n > 0) table.prepare_batch(job, nullptr);
  return input;
}

}  // namespace shoal::train
