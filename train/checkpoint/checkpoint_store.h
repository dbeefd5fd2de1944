#pragma once
// A directory of checkpoints, each of which is either complete or absent. Handles checkpoints as
// bytes and does not use LibTorch.
//
//   DIR/epoch-0003-step-00001234.pt     a checkpoint; never changed in place
//   DIR/epoch-0003-step-00001234.json   the checkpoint's marker: size, checksum, epoch, step,
//                                       accuracy; written last, deleted first
//   DIR/manifest.json                   {"last": …, "best": …}: file names for people and tools;
//                                       replaced atomically
//   DIR/history.jsonl                   copy of the run's history up to the newest checkpoint, for
//                                       machines that receive only this directory
//   DIR/../.DIR-tmp/                    the writer's lock, and files being written. Outside DIR, so
//                                       that a tool that copies DIR never sees partial files.
//   DIR/.tmp/                           used instead of DIR/../.DIR-tmp if files cannot be renamed
//                                       from there into DIR (another mount, a read-only parent)
//
// A checkpoint is written under a temporary name, flushed to disk and renamed. Then its marker is
// written the same way. So SIGKILL at any moment leaves the previous checkpoints intact. In names
// and markers, "epoch" is the epoch to start or continue, and "step" is the number of finished
// steps. Only one process may write; others may read at the same time. Not thread-safe.
//
// A whole checkpoint is used even if its writer was killed before writing the marker.
// Files with other names are neither read nor changed. Functions that list the directory throw
// std::system_error if the directory or a marker cannot be read, because an empty list would hide
// checkpoints.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/file/checksum.h"
#include "base/file/file_lock.h"
#include "base/file/whole_file.h"
#include "train/checkpoint/checkpoint_listing.h"

namespace shoal::train {

class CheckpointStore {
 public:
  using Sink = ByteSink;
  using Warn = std::function<void(const std::string&)>;
  // Returns epoch, step and accuracy of a checkpoint from its bytes. `file` appears in messages.
  // Throws std::runtime_error if the bytes are not a whole checkpoint.
  using Examine =
      std::function<CheckpointEntry(const std::vector<char>& bytes, const std::string& file)>;

  // `keep`: number of newest checkpoints that prune() keeps. prune() also keeps the best checkpoint
  // and the best one without a closing evaluation (CheckpointEntry::closing). Without `examine`,
  // checkpoints without a marker count as damaged.
  CheckpointStore(std::filesystem::path directory, int64_t keep, Examine examine = {});

  // Creates the directories and locks them against other writers for the lifetime of this object.
  // If an interrupted writer left a checkpoint without a marker, writes the marker or, if the
  // checkpoint is not whole, renames it to "unknown-..." and calls `warn`. Throws
  // std::runtime_error if the directory is locked, not writable or not readable.
  void open_for_writing(const Warn& warn = {});

  // Throws std::runtime_error if another CheckpointStore, of any process, has the directory
  // open for writing.
  void require_unlocked() const;

  // Renames all checkpoints later than this position to "superseded-...", because a run that
  // continues from this position writes different ones. The renamed files no longer count as
  // checkpoints. Reports the checkpoints' names to `warn`.
  void set_aside_after(int64_t epoch, int64_t step, const Warn& warn);

  // Writes one checkpoint, updates the manifest and prunes. `produce` passes the bytes to the sink
  // in order. `top1`: percent; unset if the state was not evaluated. `closing`: as in
  // CheckpointEntry. Replaces an intact entry of the same epoch and step only if this state was
  // evaluated and that entry was not. If the file system reports an error, creates removed folders
  // again or, on a full disk, prunes; then tries a second time, so `produce` may be called twice.
  // Pruning keeps at least the newest checkpoint that is known to be on disk. Throws
  // std::runtime_error with path and reason.
  CheckpointEntry save(int64_t epoch, int64_t step, std::optional<double> top1,
                       const std::function<void(const Sink&)>& produce, bool closing = false);

  // Removes checkpoints that need not be kept. save() does this, too. Throws std::system_error if
  // the removal cannot be flushed to disk.
  void prune() { prune_to(keep_); }

  // Writes or replaces the file `name` in the directory. Throws std::runtime_error with path and
  // reason.
  void write_file(const std::string& name, const std::string& text);

  // Makes pruning also keep the newest entry with fewer than `step` steps.
  void protect_before(int64_t step) { protected_before_ = step; }
  // Makes pruning also keep the checkpoint `file`, if it is in the directory.
  void protect(const std::filesystem::path& file);

  // Returns all checkpoints with a good marker, newest first. Leaves out markers whose .pt file is
  // missing: pruning must not count them among those to keep.
  std::vector<CheckpointEntry> entries() const;
  // Returns the names of all checkpoints without extension, newest first. Includes checkpoints
  // whose marker is missing or damaged, and markers whose .pt file is missing.
  std::vector<std::string> names() const;
  std::optional<CheckpointEntry> best() const;  // highest accuracy; among equal ones the earliest
  std::filesystem::path path(const CheckpointEntry& entry) const;

  // Returns the bytes of the entry's .pt file. Throws std::runtime_error that names the file if it
  // cannot be read, or if its size or checksum is wrong.
  std::vector<char> read(const CheckpointEntry& entry) const;
  // Returns the newest intact checkpoint with fewer than `before` steps, and its bytes. The
  // checkpoint may lack a marker. Reports damaged checkpoints to `warn`. Returns nullopt if no
  // checkpoint has fewer than `before` steps. Throws std::runtime_error if there are such
  // checkpoints but all are damaged, because starting from scratch would hide the loss. Also throws
  // std::runtime_error if a file exists but cannot be read.
  std::optional<std::pair<CheckpointEntry, std::vector<char>>> newest_good(
      const Warn& warn, int64_t before = std::numeric_limits<int64_t>::max()) const;

  const std::filesystem::path& directory() const { return directory_; }

 private:
  // Returns `prefix`, such as "unknown-", if no file in the directory is named prefix + name + .pt
  // or .json. Otherwise, returns the first of "unknown-2-", "unknown-3-", and so on, for which this
  // holds.
  std::string unused_prefix(const std::string& prefix, const std::string& name) const;
  std::filesystem::path in_directory(const std::string& name) const { return directory_ / name; }
  void choose_temporary();
  void remove_leftovers() const;
  void complete_unmarked(const Warn& warn);
  std::pair<CheckpointEntry, std::vector<char>> read_unmarked(const CheckpointEntry& entry) const;
  CheckpointEntry write(CheckpointEntry entry, const std::function<void(const Sink&)>& produce);
  void write_manifest();
  void prune_to(int64_t keep);
  std::filesystem::path temporary_beside() const;
  // Creates the folders again after one of them was removed, and locks the temporary one.
  void make_folders_again();
  // Prunes on a full disk, before save() tries to write `unsaved` again.
  void make_space(const CheckpointEntry& unsaved);

  std::filesystem::path directory_, temporary_;
  int64_t keep_;
  Examine examine_;
  int64_t protected_before_ = 0;  // steps; 0: none
  std::string protected_name_;    // without extension; empty: none
  FileLock lock_;
};

// Reads one file. If it is a checkpoint, checks the size and checksum in its marker or, without a
// marker, the checksums in the zip archive. Throws std::runtime_error with path and reason.
std::vector<char> read_checked(const std::filesystem::path& file);

}  // namespace shoal::train
