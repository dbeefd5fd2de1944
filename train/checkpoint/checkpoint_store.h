#pragma once
// A directory of checkpoints, each of which is either complete or absent. Torch-free: it stores
// bytes.
//
//   DIR/epoch-0003-step-00001234.pt     never rewritten
//   DIR/epoch-0003-step-00001234.json   its marker: size, checksum, epoch, step, accuracy;
//                                       written last, deleted first
//   DIR/manifest.json                   {"last": …, "best": …}: file names for people and tools;
//                                       rewritten by rename
//   DIR/history.jsonl                   the run's history up to the newest checkpoint, for machines
//                                       that receive only this directory
//   DIR/../.DIR-tmp/                    files being written, outside the directory so that a mirror
//                                       never sees them; and the writer's lock
//
// A file is written under its temporary name, flushed to disk and renamed. Then its marker is
// written the same way. So SIGKILL at any moment leaves the previous checkpoints intact. "epoch" is
// the epoch to start or continue, "step" the number of finished steps. Only one process may write;
// reading meanwhile is safe. Not thread-safe.

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
  std::optional<double> top1;  // percent; unset if the state was not evaluated
  int64_t bytes = 0;
  std::string checksum;
};

class CheckpointStore {
 public:
  // keep: number of newest checkpoints that prune() keeps, in addition to the best one.
  CheckpointStore(std::filesystem::path directory, int64_t keep);

  // Creates the directories, locks them against other writers for the lifetime of this object, and
  // removes the files of an interrupted writer. Throws std::runtime_error if the directory is
  // locked or not writable.
  void open_for_writing();

  using Sink = ByteSink;
  // Removes all entries after this position from the list, because a run that continues from here
  // will contradict them. Prefixes their files with "superseded-" and reports them to `warn`.
  void set_aside_after(int64_t epoch, int64_t step,
                       const std::function<void(const std::string&)>& warn);

  // Writes one checkpoint: `produce` passes its bytes to the sink in order. An existing intact
  // entry of the same epoch and step is kept, but gets a missing accuracy. Then updates the
  // manifest and prunes. Throws std::runtime_error with path and reason.
  CheckpointEntry save(int64_t epoch, int64_t step, std::optional<double> top1,
                       const std::function<void(const Sink&)>& produce);

  // Copies a file atomically into the directory, under its own name. Throws std::runtime_error with
  // path and reason.
  void keep_copy(const std::filesystem::path& file);

  // Also keeps the newest entry before `step`, in addition to `keep` and best().
  void protect_before(int64_t step) { protected_before_ = step; }

  std::vector<CheckpointEntry> entries() const;  // complete ones by their markers, newest first
  std::optional<CheckpointEntry> best() const;   // highest accuracy; if equal, the earlier one
  std::filesystem::path path(const CheckpointEntry& entry) const;

  // Returns the file's bytes after checking size and checksum. Throws std::runtime_error naming the
  // file if they are wrong.
  std::vector<char> read(const CheckpointEntry& entry) const;
  // Returns the newest intact entry with fewer than `before` steps; reports damaged ones to `warn`.
  // Throws if there are such entries but none is intact, because starting from scratch would hide
  // the loss.
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

// Reads one checkpoint and checks it against its marker, if there is one beside it. Throws
// std::runtime_error with path and reason.
std::vector<char> read_checked(const std::filesystem::path& file);

}  // namespace shoal::train
