#pragma once
// Checks that the checkpoints of a run fit on their disk. Torch-free.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "train/checkpoint/checkpoint_store.h"

namespace shoal::train {

struct DiskNeed {
  int64_t free = -1;       // bytes available to this user; -1: not reported by the file system
  int64_t checkpoint = 0;  // bytes of one checkpoint
  // Additional bytes needed for --keep + 2 checkpoints (the best one and the one being written)
  // beyond the existing ones; at least one checkpoint.
  int64_t most = 0;
};

// Returns `path` or its nearest existing parent.
std::filesystem::path existing_parent(const std::filesystem::path& path);

// `checkpoint`: bytes of one checkpoint; `keep`: --keep. If the directory does not exist, its
// nearest existing parent counts.
DiskNeed disk_need(const CheckpointStore& store, int64_t checkpoint, int64_t keep);

// Throws std::runtime_error if not even one checkpoint fits. Calls `warn` if not all of them fit.
void check_disk(const DiskNeed& need, const std::filesystem::path& directory,
                const std::function<void(const std::string&)>& warn);

}  // namespace shoal::train
