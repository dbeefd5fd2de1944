#pragma once
// Weights in a file, whoever wrote it.

#include <string>
#include <vector>

#include "train/checkpoint/checkpoint_file.h"

namespace shoal::train {

// Weights and where they come from.
struct OpenedCheckpoint {
  CheckpointData data;
  std::string file;
  std::string entry;  // the file's entry that was taken; empty: it holds one set of weights

  // Other programs do not say which model their weights are for.
  bool is_ours() const { return data.text.contains("arch"); }
  // "epoch 3, update 1234, entry ema, 5,288,548 parameters"; what is unknown is left out.
  std::string contents() const;
  std::string origin() const;  // "weights of FILE (CONTENTS)"
};

// Whether the bytes begin as a file of weights: safetensors, or either format of torch.save.
bool is_weights_file(const std::vector<char>& bytes);

// Reads a checkpoint, a model.safetensors (export.h), or the weights that another program saved with
// torch.save (torch_file.h) or safetensors. `entry` chooses among several: of a checkpoint `ema` or
// `model`; when it is empty, averaged weights come first. data.ema holds the weights when they are
// averaged, data.model otherwise. Files of other programs have no arch, classes or settings; the
// counters num_batches_tracked that old files lack are 0. Throws UserError for an unknown entry or a
// file that holds no weights, std::runtime_error when it is damaged; both name `file`.
OpenedCheckpoint read_weights(const std::vector<char>& bytes, const std::string& file,
                              const std::string& entry = "");

}  // namespace shoal::train
