#pragma once
// Converts a loader's batch to the input of a model and its loss. The only place where images
// become tensors.

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
  // (N·views)×3×H×W, channels-last, normalized with ImageNet's mean and standard deviation, mixed.
  at::Tensor images;
  // Unreadable rows have label 0; see `readable`. On a GPU, the labels share memory with the
  // uploaded batch and keep it alive.
  models::Labels labels;
  std::vector<uint64_t> keys;  // N, for models::StepContext
  // Evaluation: rows whose image could be read. Empty if all could.
  std::vector<int64_t> readable;
  int64_t unreadable = 0;
  // On a GPU: the batch may be reused after this event.
  std::optional<c10::Event> batch_was_read;
};

// Bytes of room that a batch needs for each of its rows.
int64_t room_per_row();

// Creates the input on `device`. `type`: f32, f64 or bf16. With two images per row, every second
// row of the batch is a row of the input. For a GPU, the batch needs room_per_row() bytes of room
// for each row (otherwise std::logic_error), which are overwritten, and must not be reused before
// `batch_was_read`.
Input make_input(const data::Batch& batch, ops::Type type, at::Device device,
                 int64_t images_per_row = 1);

// The path for GPUs, also usable on the CPU for tests: writes labels and mixing into the batch's
// room behind the images, uploads all of it in one copy (asynchronous if the memory is pinned), and
// prepares the images there with `table`.
Input make_input_on_device(const data::Batch& batch, ops::Type type, const ops::Table& table,
                           at::Device device, int64_t images_per_row = 1);

}  // namespace shoal::train
