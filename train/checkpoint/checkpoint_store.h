#pragma once
// A directory of checkpoints, each of which is either complete or absent. Torch-free: it stores
// bytes.
//
//   DIR/epoch-0003-step-00001234.pt     never rewritten
//   DIR/epoch-0003-step-00001234.json   the checkpoint's marker: size, checksum, epoch, step,
//                                       accuracy; written last, deleted first
//   DIR/manifest.json                   {"last": …, "best": …}: file names for people and tools;
//                                       replaced atomically
//   DIR/history.jsonl                   copy of the run's history up to the newest checkpoint, for
//                                       machines that receive only this directory
//   DIR/../.DIR-tmp/                    the writer's lock, and files being written. It is outside
//                                       DIR, so a tool that copies DIR never sees partial files
//
// A checkpoint is written under a temporary name, flushed to disk and renamed. Then its marker is
// written the same way. So SIGKILL at any moment leaves the previous checkpoints intact. "epoch" is
// the epoch to start or continue, "step" the number of finished steps. Only one process may write;
// others may read at the same time. Not thread-safe.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/file_lock.h"
#include "base/whole_file.h"

namespace shoal::train {

struct CheckpointEntry {
  std::string name;            // without extension
  int64_t epoch = 0;           // the epoch to start or continue
  int64_t step = 0;            // finished steps
  std::optional<double> top1;  // percent; unset if this checkpoint was not evaluated
  int64_t bytes = 0;
  std::string checksum;
};

class CheckpointStore {
 public:
  // `keep`: number of newest checkpoints that save() keeps, in addition to the best one.
  CheckpointStore(std::filesystem::path directory, int64_t keep);

  // Creates the directories, locks them against other writers for the lifetime of this object, and
  // removes the files of an interrupted writer. Throws std::runtime_error if the directory is
  // locked or not writable.
  void open_for_writing();

  using Sink = ByteSink;
  // Renames the checkpoints after this position to "superseded-…", because a run that continues
  // from here will write different ones. They are no longer entries. Reports their names to `warn`.
  void set_aside_after(int64_t epoch, int64_t step,
                       const std::function<void(const std::string&)>& warn);

  // Writes one checkpoint, updates the manifest and deletes old checkpoints. `produce` passes the
  // bytes to the sink in order. If an intact entry of the same epoch and step exists, only stores
  // `top1` if the entry has no accuracy yet. Throws std::runtime_error with path and reason.
  CheckpointEntry save(int64_t epoch, int64_t step, std::optional<double> top1,
                       const std::function<void(const Sink&)>& produce);

  // Copies a file atomically into the directory, under its own name. Throws std::runtime_error with
  // path and reason.
  void keep_copy(const std::filesystem::path& file);

  // Makes save() also keep the newest entry before `step`.
  void protect_before(int64_t step) { protected_before_ = step; }

  std::vector<CheckpointEntry> entries() const;  // all that have a marker, newest first
  std::optional<CheckpointEntry> best() const;   // highest accuracy; among equal ones the earliest
  std::filesystem::path path(const CheckpointEntry& entry) const;

  // Returns the file's bytes. Throws std::runtime_error naming the file if its size or checksum is
  // wrong.
  std::vector<char> read(const CheckpointEntry& entry) const;
  // Returns the newest intact entry with fewer than `before` steps and its bytes; nullopt if there
  // are no such entries. Reports damaged ones to `warn`. Throws std::runtime_error if all of them
  // are damaged, because starting from scratch would hide the loss.
  std::optional<std::pair<CheckpointEntry, std::vector<char>>> newest_good(
      const std::function<void(const std::string&)>& warn,
      int64_t before = std::numeric_limits<int64_t>::max()) const;

  const std::filesystem::path& directory() const { return directory_; }

 private:
  void write_file(const std::string& name, const std::function<void(const Sink&)>& produce);
  void write_marker(const CheckpointEntry& entry);
  void write_manifest();
  void prune();

  std::filesystem::path directory_, temporary_;
  int64_t keep_;
  int64_t protected_before_ = 0;  // steps; 0: none
  FileLock lock_;
};

// Reads one file. If it is a checkpoint with a marker, checks its size and checksum. Throws
// std::runtime_error with path and reason.
std::vector<char> read_checked(const std::filesystem::path& file);

}  // namespace shoal::train
