// Member functions of CheckpointStore that only read. checkpoint_store.cpp has the others.
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file/whole_file.h"
#include "train/checkpoint/checkpoint_store.h"
#include "train/weights/formats/zip_file.h"

namespace shoal::train {
namespace fs = std::filesystem;
namespace {

std::string checksum_of(const std::vector<char>& bytes) {
  Checksum sum;
  sum.update(bytes.data(), bytes.size());
  return sum.hex();
}

}  // namespace

std::vector<CheckpointEntry> CheckpointStore::entries() const {
  auto list = list_checkpoints(directory_);
  std::error_code none;
  std::erase_if(list, [&](const CheckpointEntry& entry) {
    return entry.marker != Marker::good || !fs::exists(path(entry), none);
  });
  return list;
}

std::vector<std::string> CheckpointStore::names() const {
  std::vector<std::string> names;
  for (const auto& entry : list_checkpoints(directory_)) names.push_back(entry.name);
  return names;
}

std::optional<CheckpointEntry> CheckpointStore::best() const {
  return best_of(entries());
}

fs::path CheckpointStore::path(const CheckpointEntry& entry) const {
  return in_directory(entry.name + ".pt");
}

std::vector<char> CheckpointStore::read(const CheckpointEntry& entry) const {
  auto bytes = read_whole_file(path(entry));
  const std::string sum = checksum_of(bytes);
  if (static_cast<int64_t>(bytes.size()) != entry.bytes || sum != entry.checksum) {
    throw std::runtime_error("checkpoint " + path(entry).string() + " is damaged (" +
                             std::to_string(bytes.size()) + " of " + std::to_string(entry.bytes) +
                             " bytes, checksum " + sum + " instead of " + entry.checksum + ")");
  }
  return bytes;
}

// Reads a checkpoint that has no marker. Returns what its marker would contain, and the file's
// bytes. Throws std::runtime_error if the checkpoint is not whole.
std::pair<CheckpointEntry, std::vector<char>> CheckpointStore::read_unmarked(
    const CheckpointEntry& entry) const {
  const std::string file = path(entry).string(), lacks = "checkpoint " + file + " has no marker";
  std::vector<char> bytes = read_whole_file(file);
  if (!examine_) throw std::runtime_error(lacks);
  CheckpointEntry whole;
  try {
    whole = examine_(bytes, file);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(lacks + " and is not whole: " + error.what());
  }
  whole.name = checkpoint_name(whole.epoch, whole.step);
  if (whole.name != entry.name)
    throw std::runtime_error(lacks + ", and its contents are those of " + whole.name);
  whole.bytes = static_cast<int64_t>(bytes.size());
  whole.checksum = checksum_of(bytes);
  return {std::move(whole), std::move(bytes)};
}

std::optional<std::pair<CheckpointEntry, std::vector<char>>> CheckpointStore::newest_good(
    const Warn& warn, int64_t before) const {
  auto list = list_checkpoints(directory_);
  std::erase_if(list, [&](const CheckpointEntry& entry) { return entry.step >= before; });
  for (const auto& entry : list) {
    try {
      if (entry.marker == Marker::good) return std::pair{entry, read(entry)};
      if (entry.marker == Marker::missing) return read_unmarked(entry);
      throw std::runtime_error("the marker " + in_directory(entry.name + ".json").string() +
                               " is damaged");
    } catch (const std::runtime_error& error) {
      // A file that exists but cannot be read may be intact, so it is not skipped.
      const auto* const system = dynamic_cast<const std::system_error*>(&error);
      if (system != nullptr && system->code() != std::errc::no_such_file_or_directory)
        throw std::runtime_error(std::string(error.what()) +
                                 "; if the error persists, move the file away to continue from the "
                                 "previous checkpoint");
      warn(std::string(error.what()) + "; trying the previous one");
    }
  }
  if (list.empty()) return std::nullopt;
  throw std::runtime_error("none of the " + std::to_string(list.size()) + " checkpoints in " +
                           directory_.string() +
                           " can be read; restore one, or train in another folder");
}

std::vector<char> read_checked(const fs::path& file) {
  const bool ours = parse_checkpoint_name(file.stem().string()) && file.extension() == ".pt";
  const auto entry = ours ? read_marker(fs::path(file).replace_extension(".json")) : std::nullopt;
  if (entry) return CheckpointStore(parent_folder(file), 1).read(*entry);
  std::vector<char> bytes = read_whole_file(file);
  if (!ours) return bytes;
  try {  // without a marker, checks the archive's own checksums
    ZipFile(bytes).check_contents();
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(file.string() + ": " + error.what());
  }
  return bytes;
}

}  // namespace shoal::train
