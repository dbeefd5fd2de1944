#include "train/checkpoint/checkpoint_listing.h"

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/file/folder.h"
#include "base/file/whole_file.h"
#include "base/json.h"
#include "base/text.h"

namespace shoal::train {
namespace fs = std::filesystem;
namespace {

// Returns the checkpoint that a file belongs to; nullopt for other files. If a checkpoint has both
// a .json and a .pt file, returns it only for the .json, so that it is listed once.
std::optional<CheckpointEntry> entry_of(const fs::path& file) {
  auto named = parse_checkpoint_name(file.stem().string());
  if (!named) return std::nullopt;
  std::error_code none;
  if (file.extension() == ".pt") {
    if (fs::exists(fs::path(file).replace_extension(".json"), none)) return std::nullopt;
    return named;
  }
  if (file.extension() != ".json") return std::nullopt;
  if (const auto entry = read_marker(file)) return entry;
  if (!fs::exists(file, none)) return std::nullopt;  // a writer has just removed it
  named->marker = Marker::damaged;
  return named;
}

}  // namespace

std::string checkpoint_name(int64_t epoch, int64_t step) {
  return strf("epoch-%04ld-step-%08ld", epoch, step);
}

std::optional<CheckpointEntry> parse_checkpoint_name(const std::string& name) {
  int64_t epoch = 0, step = 0;
  if (std::sscanf(name.c_str(), "epoch-%ld-step-%ld", &epoch, &step) != 2) return std::nullopt;
  if (checkpoint_name(epoch, step) != name) return std::nullopt;
  CheckpointEntry entry;
  entry.name = name;
  entry.epoch = epoch;
  entry.step = step;
  entry.marker = Marker::missing;
  return entry;
}

std::string marker_text(const CheckpointEntry& entry) {
  nlohmann::ordered_json marker = {{"epoch", entry.epoch},
                                   {"step", entry.step},
                                   {"bytes", entry.bytes},
                                   {"checksum", entry.checksum}};
  if (entry.top1) marker["top1"] = *entry.top1;
  if (entry.closing) marker["closing"] = true;
  return marker.dump(1) + "\n";
}

std::optional<CheckpointEntry> best_of(const std::vector<CheckpointEntry>& list) {
  std::optional<CheckpointEntry> best;
  for (const auto& entry : list) {
    if (entry.closing && entry.name != list.front().name) continue;
    if (entry.top1 && (!best || *entry.top1 >= *best->top1))
      best = entry;  // the list is newest first, so >= prefers the older entry
  }
  return best;
}

std::string manifest_text(const std::vector<CheckpointEntry>& list) {
  nlohmann::ordered_json manifest;
  manifest["last"] = list.empty() ? "" : list.front().name + ".pt";
  const auto best = best_of(list);
  manifest["best"] =
      best ? nlohmann::ordered_json(best->name + ".pt") : nlohmann::ordered_json(nullptr);
  if (best) manifest["best_top1"] = *best->top1;
  return manifest.dump(1) + "\n";
}

std::optional<CheckpointEntry> read_marker(const fs::path& path) {
  std::vector<char> text;
  try {
    text = read_whole_file(path);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::no_such_file_or_directory) return std::nullopt;
    throw;
  }
  const auto json = parse_json({text.data(), text.size()});
  if (!json.is_object()) return std::nullopt;
  CheckpointEntry entry;
  entry.name = path.stem().string();
  try {
    const auto epoch = whole_number(json.at("epoch")), step = whole_number(json.at("step")),
               bytes = whole_number(json.at("bytes"));
    if (!epoch || !step || !bytes) return std::nullopt;
    entry.epoch = *epoch;
    entry.step = *step;
    entry.bytes = *bytes;
    if (checkpoint_name(*epoch, *step) != entry.name) return std::nullopt;
    entry.checksum = json.at("checksum").get<std::string>();
    if (json.contains("top1")) entry.top1 = json.at("top1").get<double>();
    if (json.contains("closing")) entry.closing = json.at("closing").get<bool>();
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return entry;
}

std::vector<CheckpointEntry> list_checkpoints(const fs::path& directory) {
  std::vector<CheckpointEntry> list;
  std::error_code error;
  for (const auto& file : entries_of(directory, error))
    if (auto entry = entry_of(file.path())) list.push_back(std::move(*entry));
  if (error == std::errc::no_such_file_or_directory) return list;
  if (error)
    throw std::system_error(error, "cannot read the checkpoint directory " + directory.string());
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return std::tie(a.step, a.epoch) > std::tie(b.step, b.epoch);
  });
  return list;
}

}  // namespace shoal::train
