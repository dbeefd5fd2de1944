#pragma once
// Converts a loader's batch to the input tensors of a model and its loss.

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
  // Images of N rows, normalized, mixed and erased: (N·views)×C×H×W, channels-last.
  at::Tensor images;
  // Labels of all N rows, including unreadable ones; see `readable`. On a GPU, labels and keys
  // share memory with the uploaded batch and keep it alive.
  models::Labels labels;
  at::Tensor keys;  // one int64 per row; see key_values()
  // Evaluation: indexes of the rows whose image could be read. Empty if all could be read.
  std::vector<int64_t> readable;
  int64_t unreadable = 0;  // number of rows whose image could not be read
  // Returns `keys` for models::StepContext::keys.
  const uint64_t* key_values() const {
    return reinterpret_cast<const uint64_t*>(keys.const_data_ptr<int64_t>());
  }
  // On a GPU: the batch's memory may be reused after this event. Unset on the CPU.
  std::optional<c10::Event> batch_was_read;
};

// Returns the number of scratch bytes per row (data::Batch::room) that make_input() needs on a GPU.
int64_t room_per_row();

// Creates the input on `device`. `type`: element type of the images. With images_per_row = 2
// (--mixup-mode half), rows 0, 2, 4, … of the batch become the rows of the input, each mixed with
// the row after it. For a GPU, overwrites the batch's room, which must have room_per_row() bytes
// per row; otherwise throws std::logic_error. Do not reuse the batch before `batch_was_read`.
Input make_input(const data::Batch& batch, ops::Type type, at::Device device,
                 int64_t images_per_row = 1);

// Implements make_input() for GPUs; tests also use it on the CPU. Writes labels and mixing data to
// the batch's room, uploads the whole batch in one copy (asynchronous if its memory is pinned), and
// prepares the images on the device with `table`.
Input make_input_on_device(const data::Batch& batch, ops::Type type, const ops::Table& table,
                           at::Device device, int64_t images_per_row = 1);

}  // namespace shoal::train
