#pragma once
// From a loader's batch to what a model and its loss take: the one place where images become
// tensors.

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "data/loader/batch.h"
#include "models/functions.h"
#include "ops/ops.h"

namespace shoal::train {

struct Input {
  // (N·views)×3×H×W channels-last, normalised with ImageNet's mean and deviation, mixed
  at::Tensor images;
  // Unreadable rows keep label 0; `readable` tells. On a GPU they share memory with the batch's
  // bytes there, which stay as long as they do.
  models::Labels labels;
  std::vector<uint64_t> keys;  // N, for models::StepContext
  // Evaluation: rows whose image could be read, when that is not all of them.
  std::vector<int64_t> readable;
  int64_t unreadable = 0;
  // On a GPU: when it has happened, the batch may be reused.
  std::optional<c10::Event> batch_was_read;
};

// Bytes of room that a batch needs for each of its rows.
int64_t room_per_row();

// The input lies on `device`. `type`: f32, f64 or bf16. With two images per row, the first of
// every two rows of the batch is a row of the input. For a GPU the batch must have room_per_row()
// bytes of room for each of its rows, which are written to (std::logic_error), and must not be
// reused before `batch_was_read`.
Input make_input(const data::Batch& batch, ops::Type type, at::Device device,
                 int64_t images_per_row = 1);

// The way of a GPU: labels and mixing are written behind the images of the batch, in its room; all
// of it goes to the device in one copy, for which the host does not wait where the memory is
// page-locked; and `table` makes one pass over the images there. Also for the CPU (tests).
Input make_input_there(const data::Batch& batch, ops::Type type, const ops::Table& table,
                       at::Device device, int64_t images_per_row = 1);

}  // namespace shoal::train
