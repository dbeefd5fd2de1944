#pragma once
// Whether the checkpoints of a run fit on their disk. Torch-free.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "train/checkpoint/checkpoint_store.h"

namespace shoal::train {

struct DiskNeed {
  int64_t free = -1;       // bytes that this user may still write; -1: the filesystem does not say
  int64_t checkpoint = 0;  // bytes of one checkpoint
  // Further bytes needed for --keep + 2 checkpoints (the best, and the one being written), minus the
  // existing ones; at least one checkpoint's.
  int64_t most = 0;
};

// `path`, or its nearest parent that exists.
std::filesystem::path existing_parent(const std::filesystem::path& path);

// `checkpoint`: bytes of one; `keep`: --keep. The directory need not exist yet: then its nearest
// existing parent counts.
DiskNeed disk_need(const CheckpointStore& store, int64_t checkpoint, int64_t keep);

// Throws std::runtime_error when not even one checkpoint fits; tells `warn` when not all of them do.
void check_disk(const DiskNeed& need, const std::filesystem::path& directory,
                const std::function<void(const std::string&)>& warn);

}  // namespace shoal::train
