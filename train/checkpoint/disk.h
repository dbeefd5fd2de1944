#pragma once
// Checks that the disk has enough free space for the checkpoints of a run. Does not use LibTorch.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "train/checkpoint/checkpoint_store.h"

namespace shoal::train {

struct DiskNeed {
  int64_t free = -1;       // bytes available to this user; -1: not reported by the file system
  int64_t checkpoint = 0;  // bytes of one checkpoint
  // Bytes that may still be needed: the size of --keep + 2 checkpoints (the best one and the one
  // being written come on top), minus that of the checkpoints that exist. At least the size of one
  // checkpoint.
  int64_t most = 0;
};

// Returns `path` or its nearest existing parent.
std::filesystem::path existing_parent(const std::filesystem::path& path);

// Returns the space that the checkpoints in `store` need. `checkpoint`: bytes of one checkpoint;
// `keep`: --keep. If the directory does not exist, the free space is that of its nearest existing
// parent.
DiskNeed disk_need(const CheckpointStore& store, int64_t checkpoint, int64_t keep);

// Throws std::runtime_error if the disk has no space for one checkpoint. Calls `warn` if it has no
// space for all of them.
void check_disk(const DiskNeed& need, const std::filesystem::path& directory,
                const std::function<void(const std::string&)>& warn);

}  // namespace shoal::train
