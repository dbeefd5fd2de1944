#include "train/checkpoint/checkpoint_store.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/file/folder.h"
#include "base/log.h"
#include "train/report/history_file.h"

namespace shoal::train {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLock = "lock";
constexpr const char* kChoice = "--checkpoint-dir (--output)";

// Renames a finished file. Unlike move_into_place(), does not flush the folder: some callers rename
// several files.
void rename_or_throw(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw std::system_error(error, "cannot rename " + from.string());
}

// Removes a marker and flushes the removal to disk. Without the flush, a power loss could bring the
// marker back next to a different checkpoint file.
void remove_marker(const fs::path& path) {
  std::error_code error;
  const bool removed = fs::remove(path, error);
  if (error) throw std::system_error(error, "cannot remove " + path.string());
  if (removed) flush_folder(path.parent_path());
}

bool is_full_disk(const std::system_error& error) {
  return error.code() == std::errc::no_space_on_device || error.code().value() == EDQUOT;
}

}  // namespace

CheckpointStore::CheckpointStore(fs::path directory, int64_t keep, Examine examine)
    : directory_(std::move(directory)), keep_(keep), examine_(std::move(examine)) {
  if (!directory_.has_filename())
    directory_ = directory_.parent_path();  // treats "dir/" like "dir"
  temporary_ = temporary_beside();
}

fs::path CheckpointStore::temporary_beside() const {
  // All spellings of a folder must give the same lock.
  const fs::path folder = real_path(directory_);
  return folder.parent_path() / ("." + folder.filename().string() + "-tmp");
}

void CheckpointStore::require_unlocked() const {
  for (const fs::path& folder : {temporary_, directory_ / ".tmp"})
    shoal::require_unlocked(folder / kLock, directory_.string(), kChoice);
}

void CheckpointStore::open_for_writing(const Warn& warn) {
  create_folders(directory_);
  choose_temporary();
  remove_leftovers();
  complete_unmarked(warn);
  if (!entries().empty()) write_manifest();
}

// Chooses the folder for temporary files: DIR/../.DIR-tmp or, if files cannot be renamed from there
// into DIR, DIR/.tmp. Locks the folder before it tests renaming, because another run may be using
// the folder.
void CheckpointStore::choose_temporary() {
  std::string reason;
  const auto lock = [&](const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return false;
    if (!is_lock_file(folder / kLock)) {
      reason += ": " + (folder / kLock).string() + " belongs to another program";
      return false;
    }
    lock_ = FileLock(folder / kLock, directory_.string(), kChoice);
    return can_rename(folder, directory_);
  };
  const fs::path inside = directory_ / ".tmp";
  if (lock_.held()) return;
  if (lock(temporary_)) {
    // An earlier run may have had to use .tmp. Locks that folder before removing it, because the
    // earlier run may still be active.
    std::error_code none;
    if (fs::exists(inside / kLock, none) && is_lock_file(inside / kLock)) {
      FileLock(inside / kLock, directory_.string(), kChoice).remove_file();
      fs::remove(inside, none);  // fails if the folder contains other files
    }
    return;
  }
  temporary_ = inside;
  if (lock(inside)) return;
  throw std::runtime_error("cannot write to the checkpoint directory " + directory_.string() +
                           reason + "; choose another directory with --checkpoint-dir");
}

// Removes the temporary files that a killed writer left, and no other files.
void CheckpointStore::remove_leftovers() const {
  remove_parts(temporary_, [](const fs::path& name) {
    return name == kManifestFile || name == kHistoryFile ||
           parse_checkpoint_name(name.stem().string());
  });
}

std::string CheckpointStore::unused_prefix(const std::string& prefix,
                                           const std::string& name) const {
  const auto taken = [&](const std::string& one) {
    std::error_code none;
    return fs::exists(in_directory(one + name + ".pt"), none) ||
           fs::exists(in_directory(one + name + ".json"), none);
  };
  std::string unused = prefix;
  for (int i = 2; taken(unused); ++i) unused = prefix + std::to_string(i) + "-";
  return unused;
}

void CheckpointStore::complete_unmarked(const Warn& warn) {
  for (const CheckpointEntry& entry : list_checkpoints(directory_)) {
    if (entry.marker != Marker::missing) continue;
    try {
      write_file(entry.name + ".json", marker_text(read_unmarked(entry).first));
    } catch (const std::system_error&) {
      throw;  // a read or write failed; the checkpoint may still be whole
    } catch (const std::runtime_error& error) {
      const std::string name = unused_prefix("unknown-", entry.name) + entry.name + ".pt";
      // Not flushed: if a power loss undoes the renaming, the next run repeats it.
      rename_or_throw(path(entry), in_directory(name));
      if (warn) warn(std::string(error.what()) + "; it is kept as " + in_directory(name).string());
    }
  }
}

void CheckpointStore::set_aside_after(int64_t epoch, int64_t step, const Warn& warn) {
  std::string names;
  auto later = list_checkpoints(directory_);
  std::erase_if(later, [&](const auto& entry) {
    return std::tie(entry.step, entry.epoch) <= std::tie(step, epoch);
  });
  if (later.empty()) return;
  for (const auto& entry : later) names += (names.empty() ? "" : ", ") + entry.name;
  std::vector<std::string> prefixes;
  for (const auto& entry : later) prefixes.push_back(unused_prefix("superseded-", entry.name));
  for (const char* extension : {".json", ".pt"}) {
    for (size_t i = 0; i < later.size(); ++i) {
      const std::string name = later[i].name + extension;
      std::error_code none;
      if (fs::exists(in_directory(name), none))  // one of the two files may be missing
        rename_or_throw(in_directory(name), in_directory(prefixes[i] + name));
    }
    // A power loss must not leave a marker whose checkpoint is gone.
    flush_folder(directory_);
  }
  write_manifest();
  warn("this run does not continue from " + names +
       "; those checkpoints are kept as superseded-… in " + directory_.string() +
       " and may be deleted");
}

void CheckpointStore::write_file(const std::string& name, const std::string& text) {
  write_whole(in_directory(name), text, {.aside = temporary_});
}

CheckpointEntry CheckpointStore::save(int64_t epoch, int64_t step, std::optional<double> top1,
                                      const std::function<void(const Sink&)>& produce,
                                      bool closing) {
  CheckpointEntry entry;
  entry.name = checkpoint_name(epoch, step);
  entry.epoch = epoch;
  entry.step = step;
  entry.top1 = top1;
  entry.closing = closing;
  try {
    return write(entry, produce);
  } catch (const std::system_error& error) {
    if (is_full_disk(error)) make_space(entry);
    if (error.code() == std::errc::no_such_file_or_directory) make_folders_again();
  }
  return write(entry, produce);
}

void CheckpointStore::make_folders_again() {
  log::warning("the checkpoint folder " + directory_.string() +
               " or its temporary folder was removed during the run; creating it again");
  lock_ = FileLock();
  temporary_ = temporary_beside();
  create_folders(directory_);
  choose_temporary();
}

void CheckpointStore::make_space(const CheckpointEntry& unsaved) {
  std::error_code none;
  // Whether the entry still has a marker. If so, prune_to() counts it among the newest.
  const bool counts = fs::exists(in_directory(unsaved.name + ".json"), none);
  try {
    // A new checkpoint must be on disk before older ones are removed.
    if (counts) flush_folder(directory_);
    prune_to(counts ? keep_ : std::max<int64_t>(1, keep_ - 1));
  } catch (const std::system_error&) {  // the next write reports a disk that still fails
  }
}

CheckpointEntry CheckpointStore::write(CheckpointEntry entry,
                                       const std::function<void(const Sink&)>& produce) {
  const fs::path marker = in_directory(entry.name + ".json");
  std::optional<CheckpointEntry> existing = read_marker(marker);
  // An evaluated entry replaces one that was not evaluated. A run saves the same step twice if it
  // is stopped just before its last evaluation: when resumed, it evaluates and saves again.
  if (existing && entry.top1 && !existing->top1) existing.reset();
  try {
    if (existing) read(*existing);
  } catch (const std::runtime_error&) {
    existing.reset();  // the .pt file is damaged or cannot be read
  }
  if (!existing) {
    Checksum sum;
    const auto sum_and_write = [&](const ByteSink& sink) {
      produce([&](const void* bytes, size_t size) {
        sum.update(bytes, size);
        entry.bytes += static_cast<int64_t>(size);
        sink(bytes, size);
      });
    };
    // Removes the marker before the checkpoint that it describes is replaced.
    write_whole(path(entry), sum_and_write,
                {.aside = temporary_, .before_rename = [&] { remove_marker(marker); }});
    entry.checksum = sum.hex();
    write_file(entry.name + ".json", marker_text(entry));
  }
  write_manifest();
  if (existing) return *existing;
  prune();
  return entry;
}

void CheckpointStore::protect(const fs::path& file) {
  std::error_code none;
  if (fs::equivalent(file, in_directory(file.filename().string()), none))
    protected_name_ = file.stem().string();
}

void CheckpointStore::write_manifest() {
  write_file(kManifestFile, manifest_text(entries()));
}

void CheckpointStore::prune_to(int64_t keep) {
  std::error_code error;
  const auto list = entries();
  // A closing evaluation was made only because the run ended. It does not make its checkpoint the
  // best one of the run, but shows that the weights were sound. So keep the best of all evaluated
  // checkpoints, and the best of those without a closing evaluation.
  auto all = list, regular = list;
  for (CheckpointEntry& entry : all) entry.closing = false;
  std::erase_if(regular, [](const CheckpointEntry& entry) { return entry.closing; });
  const auto top = best_of(all), top_regular = best_of(regular);
  const auto kept = std::find_if(list.begin(), list.end(), [&](const CheckpointEntry& entry) {
    return entry.step < protected_before_;
  });
  std::vector<fs::path> unmarked;
  for (size_t i = static_cast<size_t>(keep); i < list.size(); ++i) {
    const std::string& name = list[i].name;
    if ((top && name == top->name) || (top_regular && name == top_regular->name)) continue;
    if (name == protected_name_) continue;
    if (kept != list.end() && name == kept->name) continue;
    if (fs::remove(in_directory(name + ".json"), error)) unmarked.push_back(path(list[i]));
  }
  if (unmarked.empty()) return;
  std::exception_ptr failure;
  try {
    // A power loss must not leave a marker whose checkpoint is gone.
    flush_folder(directory_);
  } catch (const std::system_error&) {
    failure = std::current_exception();  // rethrown after the space is freed
  }
  for (const fs::path& file : unmarked) fs::remove(file, error);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace shoal::train
