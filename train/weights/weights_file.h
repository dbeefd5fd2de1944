#pragma once
// Reads weights from files of shoal and of other programs.

#include <string>
#include <vector>

#include "train/weights/checkpoint_file.h"

namespace shoal::train {

// Weights and where they come from.
struct OpenedCheckpoint {
  CheckpointData data;
  std::string file;
  std::string entry;         // the entry used; empty: the file has a single set of weights
  std::string warning = {};  // from checksum_note(); only for files of other programs

  bool is_ours() const { return data.is_ours(); }
  // "epoch 3, step 1234, entry ema, 5,288,548 parameters"; unknown parts are omitted.
  std::string contents() const;
  std::string origin() const;  // "weights of FILE (CONTENTS)"
};

// Key in CheckpointData::text. The value names the network in another program's file: it is the
// file's entry `arch` or, if there is none, the name of the file or of a folder that contains it.
inline constexpr const char* kTheirModel = "their_model";

// Whether a tensor of this name is a buffer (batch norm statistics), not a parameter.
bool is_buffer(const std::string& name);

// Whether the bytes start like a file of torch.save: like any zip archive, or like the format that
// PyTorch used before 1.6.
bool is_torch_file(const std::vector<char>& bytes);

// Whether the bytes start like a weights file: safetensors, or either format of torch.save.
bool is_weights_file(const std::vector<char>& bytes);

// If a checksum in the zip archive `bytes` is wrong, returns a warning; the caller writes the path
// and a colon before it. Returns "" for other formats, and for archives that cannot be read.
std::string checksum_note(const std::vector<char>& bytes);

// Reads a checkpoint, a model.safetensors (model_file.h), or another program's weights in the
// format of torch.save (torch_file.h) or safetensors. `entry` selects one of several sets of
// weights; in a checkpoint, these are `ema` and `model`. If `entry` is empty, averaged weights are
// preferred. Returns averaged weights in data.ema, others in data.model. For files of other
// programs, arch, classes and settings are empty, and missing num_batches_tracked counters are 0.
// Tensors keep the file's names (adapt_weights.h converts them), without prefixes of wrappers.
// Throws UserError for an unknown entry or a file without weights, std::runtime_error if the file
// is damaged; both name `file`.
OpenedCheckpoint read_weights(const std::vector<char>& bytes, const std::string& file,
                              const std::string& entry = "");

}  // namespace shoal::train
