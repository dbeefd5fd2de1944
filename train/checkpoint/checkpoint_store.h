#pragma once
// A directory of checkpoints in which each one either exists whole or does not exist. Torch-free:
// it moves bytes.
//
//   DIR/epoch-0003-step-00001234.pt     never rewritten
//   DIR/epoch-0003-step-00001234.json   its marker: size, checksum, epoch, step, accuracy;
//                                       written last, deleted first
//   DIR/manifest.json                   {"last": …, "best": …}: names for people and tools;
//                                       rewritten by rename
//   DIR/history.jsonl                   the run's history up to the newest one: a machine that is
//                                       given the directory alone has it too
//   DIR/../.DIR-tmp/                    files being written: beside the directory, so that a
//                                       mirror never sees them; and the writer's lock
//
// A file is written under its temporary name, flushed to disk, renamed, and then its marker is
// written the same way, so SIGKILL at any moment leaves the previous checkpoints intact. Epoch is
// the one to start, step the updates done. One process writes; reading is safe meanwhile. Not
// thread-safe.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/file_lock.h"
#include "base/whole_file.h"

namespace shoal::train {

// 64-bit checksum of a byte stream, as stored in markers (16 hex digits). Independent of how the
// stream is cut.
class Checksum {
 public:
  void update(const void* bytes, size_t size);
  uint64_t value() const;

 private:
  uint64_t state_ = 0x9E3779B97F4A7C15ull;
  uint64_t length_ = 0;
  uint8_t tail_[8] = {};
};

struct CheckpointEntry {
  std::string name;            // without extension
  int64_t epoch = 0;           // the epoch to start or continue
  int64_t step = 0;            // updates done
  std::optional<double> top1;  // percent, when the state was evaluated
  int64_t bytes = 0;
  std::string checksum;
};

class CheckpointStore {
 public:
  // keep: newest checkpoints that prune() leaves, besides the best one.
  CheckpointStore(std::filesystem::path directory, int64_t keep);

  // Makes the directories, locks them against other writers while this object lives, and removes
  // what an interrupted writer left. Throws std::runtime_error when not writable or locked.
  void open_for_writing();

  using Sink = ByteSink;
  // Takes the entries later than this position, which a run that goes on from it would contradict,
  // out of the list: their files get "superseded-" in front; `warn` is told where they are.
  void set_aside_after(int64_t epoch, int64_t step,
                       const std::function<void(const std::string&)>& warn);

  // Writes one checkpoint: `produce` hands its bytes to the sink in order. A good entry of the same
  // epoch and step that exists already is left as it is, but gets the accuracy it lacks. Then updates
  // the manifest and prunes.
  // Throws std::runtime_error with path and reason.
  CheckpointEntry save(int64_t epoch, int64_t step, std::optional<double> top1,
                       const std::function<void(const Sink&)>& produce);

  // Puts a copy of a file beside the checkpoints under its own name, whole or not at all. Throws
  // std::runtime_error with path and reason.
  void keep_copy(const std::filesystem::path& file);

  // The newest entry of fewer than `step` updates stays, besides those that `keep` and best() say.
  void protect_before(int64_t step) { protected_before_ = step; }

  std::vector<CheckpointEntry> entries() const;  // whole ones by their markers, newest first
  std::optional<CheckpointEntry> best() const;   // highest accuracy, the earlier of equals
  std::filesystem::path path(const CheckpointEntry& entry) const;

  // The file's bytes after checking size and checksum; throws std::runtime_error naming the file
  // when they are wrong.
  std::vector<char> read(const CheckpointEntry& entry) const;
  // The newest entry of fewer than `before` updates whose bytes are good; `warn` is told of each
  // that is not. Throws when there are such entries but none is good: a fresh start would hide the
  // loss.
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
  int64_t protected_before_ = 0;  // updates; 0: none
  FileLock lock_;
};

// Reads one checkpoint's bytes, checked against its marker when that lies beside it. Throws
// std::runtime_error with path and reason.
std::vector<char> read_checked(const std::filesystem::path& file);

}  // namespace shoal::train
