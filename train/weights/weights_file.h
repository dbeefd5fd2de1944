#pragma once
// Reads weights from files of shoal and of other programs.

#include <string>
#include <vector>

#include "train/checkpoint/checkpoint_file.h"

namespace shoal::train {

// Weights with their origin.
struct OpenedCheckpoint {
  CheckpointData data;
  std::string file;
  std::string entry;  // the entry that was used; empty: the file has a single set of weights

  // Files of other programs do not name the model.
  bool is_ours() const { return data.text.contains("arch"); }
  // "epoch 3, step 1234, entry ema, 5,288,548 parameters"; unknown parts are omitted.
  std::string contents() const;
  std::string origin() const;  // "weights of FILE (CONTENTS)"
};

// Whether the bytes start like a weights file: safetensors, or either format of torch.save.
bool is_weights_file(const std::vector<char>& bytes);

// Reads a checkpoint, a model.safetensors (export.h), or another program's weights from torch.save
// (torch_file.h) or safetensors. `entry` selects one of several sets: `ema` or `model` in a
// checkpoint. If it is empty, averaged weights are preferred. Averaged weights are returned in
// data.ema, others in data.model. Files of other programs have no arch, classes or settings;
// missing num_batches_tracked counters are 0. Throws UserError for an unknown entry or a file
// without weights, std::runtime_error if it is damaged; both name `file`.
OpenedCheckpoint read_weights(const std::vector<char>& bytes, const std::string& file,
                              const std::string& entry = "");

}  // namespace shoal::train
