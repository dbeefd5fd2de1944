#pragma once
// Names of the checkpoints in a directory, and their markers: the .json files that describe them
// (checkpoint_store.h). Does not use LibTorch.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace shoal::train {

// File that names the last and the best checkpoint, for people and tools.
inline constexpr const char* kManifestFile = "manifest.json";

enum class Marker { good, missing, damaged };

struct CheckpointEntry {
  std::string name;            // without extension
  int64_t epoch = 0;           // epoch to start or continue after loading
  int64_t step = 0;            // finished steps
  std::optional<double> top1;  // percent; unset if the state was not evaluated
  bool closing = false;        // whether `top1` is from a closing evaluation (see best_of)
  int64_t bytes = 0;
  std::string checksum;
  // State of the marker file. Unless it is good, only name, epoch and step are set; they come from
  // the file name.
  Marker marker = Marker::good;
};

// Returns the name of a checkpoint without extension, such as "epoch-0003-step-00001234".
std::string checkpoint_name(int64_t epoch, int64_t step);
// Parses a checkpoint's name into an entry with Marker::missing. Returns nullopt for other names.
std::optional<CheckpointEntry> parse_checkpoint_name(const std::string& name);

// Returns the entry with the highest accuracy; among equal ones, the earliest. Returns nullopt if
// no entry was evaluated. `list`: newest first. A closing evaluation, made only because the run
// ended, counts only for the newest entry, because a run that continues forgets it
// (Position::forget_closing).
std::optional<CheckpointEntry> best_of(const std::vector<CheckpointEntry>& list);

// Returns the contents of a marker, the .json file that says that its checkpoint is complete.
std::string marker_text(const CheckpointEntry& entry);
// Returns the contents of manifest.json. `list`: newest first.
std::string manifest_text(const std::vector<CheckpointEntry>& list);
// Reads a marker. Returns nullopt if the file does not exist or is damaged. Throws
// std::system_error if it cannot be read.
std::optional<CheckpointEntry> read_marker(const std::filesystem::path& path);

// Returns the checkpoints of a directory, newest first; an empty list if the directory does not
// exist. Includes markers whose .pt file is missing. Ignores files with other names. Throws
// std::system_error if the directory or a marker cannot be read.
std::vector<CheckpointEntry> list_checkpoints(const std::filesystem::path& directory);

}  // namespace shoal::train
