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
  // Bytes that the run may still need: the size of --keep + 2 checkpoints (the newest ones, the
  // best one, and the one being written) minus that of the existing checkpoints. At least the size
  // of one checkpoint.
  int64_t most = 0;
};

// Returns the free space and the space that a run with this `store` needs. `checkpoint`: bytes of
// one checkpoint; `keep`: --keep. If the store's directory does not exist, uses the free space of
// its nearest existing parent.
DiskNeed disk_need(const CheckpointStore& store, int64_t checkpoint, int64_t keep);

// Throws std::runtime_error if the disk has no space for one checkpoint. Calls `warn` if the disk
// has less space than need.most. Does nothing if the free space is unknown. `directory` appears in
// messages.
void check_disk(const DiskNeed& need, const std::filesystem::path& directory,
                const std::function<void(const std::string&)>& warn);

}  // namespace shoal::train
