#include "train/checkpoint/checkpoint_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/text.h"

namespace shoal::train {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const fs::path& path, const std::error_code& error) {
  throw std::runtime_error("cannot rename " + path.string() + ": " + error.message());
}

std::string entry_name(int64_t epoch, int64_t step) {
  return strf("epoch-%04lld-step-%08lld", static_cast<long long>(epoch),
              static_cast<long long>(step));
}

constexpr const char* kLock = "lock";

std::optional<CheckpointEntry> read_marker(const fs::path& path) {
  std::ifstream in(path);
  const auto json = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  CheckpointEntry entry;
  entry.name = path.stem().string();
  try {
    entry.epoch = json.at("epoch").get<int64_t>();
    entry.step = json.at("step").get<int64_t>();
    entry.bytes = json.at("bytes").get<int64_t>();
    entry.checksum = json.at("checksum").get<std::string>();
    if (json.contains("top1")) entry.top1 = json.at("top1").get<double>();
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return entry;
}

}  // namespace

CheckpointStore::CheckpointStore(fs::path directory, int64_t keep)
    : directory_(std::move(directory)), keep_(keep) {
  if (!directory_.has_filename())
    directory_ = directory_.parent_path();  // treats "dir/" like "dir"
  temporary_ = directory_.parent_path() / ("." + directory_.filename().string() + "-tmp");
}

void CheckpointStore::open_for_writing() {
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error)
    throw std::runtime_error("cannot create the checkpoint directory " + directory_.string() +
                             ": " + error.message());
  fs::create_directories(temporary_, error);
  // The parent may be read-only, or on another file system, where files cannot be renamed into the
  // directory. Then a hidden folder inside the directory holds the temporary files.
  struct stat inside {
  }, beside{};
  const bool same = !error && ::stat(directory_.c_str(), &inside) == 0 &&
                    ::stat(temporary_.c_str(), &beside) == 0 && inside.st_dev == beside.st_dev &&
                    ::access(temporary_.c_str(), W_OK) == 0;
  if (!same) {
    temporary_ = directory_ / ".tmp";
    fs::create_directories(temporary_, error);
  }
  if (error || ::access(directory_.c_str(), W_OK) != 0) {
    throw std::runtime_error("cannot write to the checkpoint directory " + directory_.string() +
                             "; choose another with --checkpoint-dir");
  }
  if (!lock_.held())
    lock_ = FileLock(temporary_ / kLock, directory_.string(), "--checkpoint-dir (--output)");
  for (const auto& left : fs::directory_iterator(temporary_)) {
    if (left.path().filename() != kLock) fs::remove(left.path(), error);
  }
  // Removes checkpoints without a marker: their writer died before it wrote the marker.
  for (const auto& file : fs::directory_iterator(directory_)) {
    if (file.path().extension() != ".pt" || file.path().filename().string().rfind("epoch-", 0) != 0)
      continue;
    if (!fs::exists(fs::path(file.path()).replace_extension(".json")))
      fs::remove(file.path(), error);
  }
}

void CheckpointStore::set_aside_after(int64_t epoch, int64_t step,
                                      const std::function<void(const std::string&)>& warn) {
  std::string names;
  for (const auto& entry : entries()) {
    if (std::tie(entry.step, entry.epoch) <= std::tie(step, epoch)) break;
    for (const char* extension : {".json", ".pt"}) {  // the marker first
      const std::string name = entry.name + extension;
      std::error_code error;
      fs::rename(directory_ / name, directory_ / ("superseded-" + name), error);
      if (error && extension == std::string(".json")) fail(directory_ / name, error);
    }
    names += (names.empty() ? "" : ", ") + entry.name;
  }
  if (names.empty()) return;
  write_manifest();
  warn("this run continues before " + names + "; those checkpoints are kept as superseded-… in " +
       directory_.string() + " and may be deleted");
}

void CheckpointStore::write_file(const std::string& name,
                                 const std::function<void(const Sink&)>& produce) {
  write_whole(directory_ / name, produce, {.aside = temporary_});
}

void CheckpointStore::write_marker(const CheckpointEntry& entry) {
  nlohmann::ordered_json marker = {{"epoch", entry.epoch},
                                   {"step", entry.step},
                                   {"bytes", entry.bytes},
                                   {"checksum", entry.checksum}};
  if (entry.top1) marker["top1"] = *entry.top1;
  const std::string text = marker.dump(1) + "\n";
  write_file(entry.name + ".json", [&](const Sink& sink) { sink(text.data(), text.size()); });
}

CheckpointEntry CheckpointStore::save(int64_t epoch, int64_t step, std::optional<double> top1,
                                      const std::function<void(const Sink&)>& produce) {
  CheckpointEntry entry{entry_name(epoch, step), epoch, step, top1, 0, ""};
  const fs::path marker_path = directory_ / (entry.name + ".json");
  if (auto existing = read_marker(marker_path)) {
    try {
      read(*existing);
      if (top1 && !existing->top1) {  // a stop saved it before its evaluation
        existing->top1 = top1;
        write_marker(*existing);
        write_manifest();
      }
      return *existing;
    } catch (const std::runtime_error&) {  // damaged: written again below
      fs::remove(marker_path);
    }
  }
  Checksum sum;
  write_file(entry.name + ".pt", [&](const Sink& sink) {
    produce([&](const void* bytes, size_t size) {
      sum.update(bytes, size);
      entry.bytes += static_cast<int64_t>(size);
      sink(bytes, size);
    });
  });
  entry.checksum = sum.hex();
  write_marker(entry);
  write_manifest();
  prune();
  return entry;
}

std::vector<CheckpointEntry> CheckpointStore::entries() const {
  std::vector<CheckpointEntry> list;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(directory_, error)) {
    const fs::path& path = file.path();
    if (path.extension() != ".json" || path.filename().string().rfind("epoch-", 0) != 0) continue;
    if (const auto entry = read_marker(path)) list.push_back(*entry);
  }
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return std::tie(a.step, a.epoch) > std::tie(b.step, b.epoch);
  });
  return list;
}

std::optional<CheckpointEntry> CheckpointStore::best() const {
  std::optional<CheckpointEntry> best;
  for (const auto& entry : entries()) {
    if (entry.top1 && (!best || *entry.top1 >= *best->top1))
      best = entry;  // newest first: >= prefers the earlier one
  }
  return best;
}

fs::path CheckpointStore::path(const CheckpointEntry& entry) const {
  return directory_ / (entry.name + ".pt");
}

std::vector<char> CheckpointStore::read(const CheckpointEntry& entry) const {
  auto bytes = read_whole_file(path(entry));
  Checksum sum;
  sum.update(bytes.data(), bytes.size());
  if (static_cast<int64_t>(bytes.size()) != entry.bytes || sum.hex() != entry.checksum) {
    throw std::runtime_error("checkpoint " + path(entry).string() + " is damaged (" +
                             std::to_string(bytes.size()) + " of " + std::to_string(entry.bytes) +
                             " bytes, checksum " + sum.hex() + " instead of " + entry.checksum +
                             ")");
  }
  return bytes;
}

std::optional<std::pair<CheckpointEntry, std::vector<char>>> CheckpointStore::newest_good(
    const std::function<void(const std::string&)>& warn, int64_t before) const {
  auto list = entries();
  std::erase_if(list, [&](const CheckpointEntry& entry) { return entry.step >= before; });
  for (const auto& entry : list) {
    try {
      return std::pair{entry, read(entry)};
    } catch (const std::runtime_error& error) {
      warn(std::string(error.what()) + "; trying the previous one");
    }
  }
  if (list.empty()) return std::nullopt;
  throw std::runtime_error(
      "none of the " + std::to_string(list.size()) + " checkpoints in " + directory_.string() +
      " can be read; restore one, or start from scratch with another --checkpoint-dir");
}

void CheckpointStore::keep_copy(const fs::path& file) {
  std::error_code none;
  if (fs::equivalent(file, directory_ / file.filename(), none)) return;
  const std::vector<char> bytes = read_whole_file(file);
  write_file(file.filename().string(), [&](const Sink& sink) { sink(bytes.data(), bytes.size()); });
}

void CheckpointStore::write_manifest() {
  const auto list = entries();
  nlohmann::ordered_json manifest;
  manifest["last"] = list.empty() ? "" : list.front().name + ".pt";
  const auto top = best();
  manifest["best"] =
      top ? nlohmann::ordered_json(top->name + ".pt") : nlohmann::ordered_json(nullptr);
  if (top) manifest["best_top1"] = *top->top1;
  const std::string text = manifest.dump(1) + "\n";
  write_file("manifest.json", [&](const Sink& sink) { sink(text.data(), text.size()); });
}

void CheckpointStore::prune() {
  const auto list = entries();
  const auto top = best();
  const auto kept = std::find_if(list.begin(), list.end(), [&](const CheckpointEntry& entry) {
    return entry.step < protected_before_;
  });
  for (size_t i = static_cast<size_t>(keep_); i < list.size(); ++i) {
    if (top && list[i].name == top->name) continue;
    if (kept != list.end() && list[i].name == kept->name) continue;
    std::error_code error;
    fs::remove(directory_ / (list[i].name + ".json"), error);
    fs::remove(path(list[i]), error);
  }
}

std::vector<char> read_checked(const fs::path& file) {
  const fs::path directory = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const CheckpointStore store(directory, 1);
  for (const auto& entry : store.entries()) {
    if (entry.name + ".pt" == file.filename().string()) return store.read(entry);
  }
  return read_whole_file(file);
}

}  // namespace shoal::train
