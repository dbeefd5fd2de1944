#include "data/pack/shards.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/file/folder.h"
#include "base/file/whole_file.h"
#include "base/text.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kList = "shards.txt";
constexpr const char* kReplaced = ", being replaced";  // suffix of the first line during replace()
constexpr const char* kReplacement = ".replacement";   // folder of a new set, inside the old set

std::string file_name(int64_t shard) {
  return strf("%05ld.pack", shard);
}

std::string first_line(uint64_t request) {
  return "shoal packed set, request " + hex(request);
}

struct ListContent {
  std::string head;
  std::vector<int64_t> next;
  bool whole = false;

  // Number of files that may belong to the set; an unfinished set may have one not listed yet.
  int64_t files() const { return static_cast<int64_t>(next.size()) + (whole ? 0 : 1); }
};

ListContent read_shard_list(const std::string& folder) {
  ListContent list;
  std::vector<std::string> lines = read_lines(fs::path(folder) / kList);
  if (lines.empty()) return list;
  list.head = std::move(lines.front());
  for (const std::string& line : std::span(lines).subspan(1)) {
    if (line == "whole") {
      list.whole = true;
      break;
    }
    const auto next = parse_number<int64_t>(line);
    if (!next || *next <= (list.next.empty() ? 0 : list.next.back()))
      throw std::invalid_argument(folder + "/" + kList + " is damaged: '" + line +
                                  "' is not a sample number; remove the folder");
    list.next.push_back(*next);
  }
  return list;
}

void write_list(const std::string& folder, const std::string& head,
                const std::vector<int64_t>& next, bool whole) {
  std::string text = head + "\n";
  for (const int64_t one : next) text += std::to_string(one) + "\n";
  if (whole) text += "whole\n";
  write_whole(fs::path(folder) / kList, text);
}

// Throws if the folder contains another program's file that a new packed file would replace.
void refuse_unlisted(const std::string& folder, const ListContent& list) {
  if (list.head.ends_with(kReplaced)) return;  // the folder may contain files of the new set
  for (const auto& entry : entries_of(folder)) {
    const std::string name = entry.path().filename().string();
    const auto shard = parse_number<int64_t>(entry.path().stem().string());
    if (shard && *shard >= list.files() && name == file_name(*shard))
      throw std::invalid_argument(
          entry.path().string() +
          " does not belong to the packed set in this folder; move it away");
  }
}

}  // namespace

ShardList::ShardList(const std::string& folder, uint64_t request, bool overwrite)
    : folder_(folder), request_(request) {
  if (fs::exists(folder) && !fs::is_directory(folder))
    throw std::invalid_argument(folder +
                                " is a file; with --shard-size, the destination must be a folder");
  create_folders(folder);
  if (is_sharded_set(folder)) {
    const ListContent list = read_shard_list(folder);
    const bool replace = overwrite && (list.whole || list.head != first_line(request));
    if (replace) {
      refuse_unlisted(folder, list);
      replace_later();
      return;
    }
    if (list.head == first_line(request)) {
      if (!list.whole) refuse_unlisted(folder, list);
      next_ = list.next;
      whole_ = list.whole;
      return;
    }
    throw std::invalid_argument(folder +
                                " contains a packed set made from another source, with other "
                                "options or by an earlier version, or an interrupted --overwrite; "
                                "choose another name, or replace it with `shoal pack --overwrite`");
  }
  remove_parts(folder, [](const fs::path& name) { return name == kList; });
  if (!fs::is_empty(folder)) {
    throw std::invalid_argument(folder + " is neither empty nor a packed set; choose another name");
  }
  save();
}

// Writes the new set to a hidden folder until close() replaces the old set. Continues an
// interrupted replacement with the same request, even if it was interrupted while moving its files.
void ShardList::replace_later() {
  target_ = folder_;
  folder_ = (fs::path(target_) / kReplacement).string();
  create_folders(folder_);
  const ListContent list = is_sharded_set(folder_) ? read_shard_list(folder_) : ListContent{};
  if (list.head == first_line(request_))
    next_ = list.next;
  else
    save();
}

// Returns the path of a file: in folder_, or in target_ if an interrupted replacement has already
// moved it there.
std::string ShardList::path_of(int64_t shard) const {
  const fs::path path = fs::path(folder_) / file_name(shard);
  const bool moved = !target_.empty() && shard < finished() && !fs::exists(path);
  return moved ? (fs::path(target_) / file_name(shard)).string() : path.string();
}

void ShardList::finish(int64_t next_sample) {
  next_.push_back(next_sample);
  save();
}

void ShardList::close() {
  whole_ = true;
  save();
  if (!target_.empty()) replace();
}

void ShardList::replace() {
  const ListContent old = read_shard_list(target_);
  // From here on, the folder may contain files of both sets. The list written here keeps other
  // processes from reading or continuing the set. It has as many entries as the larger set: if this
  // replacement is interrupted, the next one removes all listed files that it does not need.
  write_list(target_, old.head + kReplaced, old.next.size() < next_.size() ? next_ : old.next,
             /*whole=*/false);
  const auto place = [&](int64_t shard) { return fs::path(target_) / file_name(shard); };
  const std::string unfinished = place(static_cast<int64_t>(old.next.size())).string();
  for (const char* extension : {".partial", ".partial.table"}) fs::remove(unfinished + extension);
  for (int64_t shard = 0; shard < finished(); ++shard) {
    const fs::path fresh = fs::path(folder_) / file_name(shard);
    // Not move_into_place(), which would flush the folder after each file.
    if (fs::exists(fresh)) fs::rename(fresh, place(shard));
  }
  for (auto shard = finished(); shard < old.files(); ++shard) fs::remove(place(shard));
  flush_folder(target_);  // so that the list appears last, even after a power loss
  move_into_place(fs::path(folder_) / kList, fs::path(target_) / kList);
  fs::remove_all(folder_);
}

void ShardList::save() const {
  write_list(folder_, first_line(request_), next_, whole_);
}

bool is_sharded_set(const std::string& path) {
  return fs::is_regular_file(fs::path(path) / kList);
}

std::vector<std::string> packed_files(const std::string& path) {
  if (!is_sharded_set(path)) return {path};
  const ListContent list = read_shard_list(path);
  if (!list.whole)
    throw std::invalid_argument(path + " is unfinished; run the same `shoal pack` command again");
  if (list.next.empty()) throw std::invalid_argument(path + " has no packed file");
  std::vector<std::string> files;
  for (size_t i = 0; i < list.next.size(); ++i) {
    files.push_back((fs::path(path) / file_name(static_cast<int64_t>(i))).string());
    if (!fs::exists(files.back()))
      throw std::invalid_argument(path + " has no " + file_name(static_cast<int64_t>(i)) +
                                  ", one of its " + std::to_string(list.next.size()) +
                                  " files; copy it there, or pack the set again");
  }
  return files;
}

ShardedDataset::ShardedDataset(const std::string& folder) {
  for (const std::string& file : packed_files(folder)) {
    packs_.push_back(std::make_unique<PackedDataset>(file));
    starts_.push_back(starts_.back() + packs_.back()->size());
    if (packs_.back()->classes() != packs_.front()->classes())
      throw std::invalid_argument(file + " has different classes than the files before it");
  }
}

ShardedDataset::Place ShardedDataset::place(int64_t sample) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), sample);
  const auto pack = static_cast<size_t>(after - starts_.begin()) - 1;
  return {*packs_[pack], sample - starts_[pack]};
}

int32_t ShardedDataset::label(int64_t sample) const {
  const Place at = place(sample);
  return at.pack.label(at.sample);
}

std::string ShardedDataset::name(int64_t sample) const {
  const Place at = place(sample);
  return at.pack.name(at.sample);
}

std::string ShardedDataset::key(int64_t sample) const {
  const Place at = place(sample);
  return at.pack.key(at.sample);
}

uint64_t ShardedDataset::stored_hash(int64_t sample) const {
  const Place at = place(sample);
  return at.pack.stored_hash(at.sample);
}

void ShardedDataset::read(int64_t sample, std::vector<uint8_t>& bytes) const {
  const Place at = place(sample);
  at.pack.read(at.sample, bytes);
}

bool ShardedDataset::seek_index(int64_t sample, jpeg::SeekIndex& index) const {
  const Place at = place(sample);
  return at.pack.seek_index(at.sample, index);
}

void ShardedDataset::will_read(int64_t first, int64_t count) const {
  while (count > 0) {
    const Place at = place(first);
    const int64_t here = std::min(count, at.pack.size() - at.sample);
    at.pack.will_read(at.sample, here);
    first += here, count -= here;
  }
}

}  // namespace shoal::data
