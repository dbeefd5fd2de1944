#include "train/checkpoint/disk.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <stdexcept>

#include "base/file/whole_file.h"
#include "base/format/grouped.h"
#include "base/log.h"

namespace shoal::train {
namespace fs = std::filesystem;

DiskNeed disk_need(const CheckpointStore& store, int64_t checkpoint, int64_t keep) {
  constexpr int64_t kBestAndNew = 2;  // the best checkpoint and the one being written
  DiskNeed need;
  need.checkpoint = checkpoint;
  int64_t there = 0;
  for (const CheckpointEntry& entry : store.entries()) there += entry.bytes;
  const double all =
      static_cast<double>(checkpoint) * static_cast<double>(keep + kBestAndNew);  // cannot overflow
  need.most = static_cast<int64_t>(
      std::clamp(all - static_cast<double>(there), static_cast<double>(checkpoint), 9e18));
  const fs::path place = existing_parent(store.directory());
  struct statvfs disk {};
  if (::statvfs(place.c_str(), &disk) == 0 && disk.f_blocks > 0)
    need.free = static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
  return need;
}

void check_disk(const DiskNeed& need, const fs::path& directory,
                const std::function<void(const std::string&)>& warn) {
  if (need.free < 0 || need.free >= need.most) return;
  if (need.free < need.checkpoint)
    throw std::runtime_error(strf(
        "%s has %.1f MB free and a checkpoint needs %.1f MB; free some space or choose another "
        "disk with --checkpoint-dir",
        directory.c_str(), megabytes(need.free), megabytes(need.checkpoint)));
  warn(strf(
      "%s has %.1f MB free; the checkpoints of this run (--keep, the best and the one being "
      "written) may need another %.1f MB (%.1f MB each): free some space or lower --keep",
      directory.c_str(), megabytes(need.free), megabytes(need.most), megabytes(need.checkpoint)));
}

}  // namespace shoal::train
