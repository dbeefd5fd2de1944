#include "data/container/scan.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>
#include <utility>

#include "base/file/whole_file.h"
#include "data/container/cache_file.h"

namespace shoal::data {
namespace {

constexpr char kScanCache[] = "shoal scan 4\n";

void write_scan(CacheWriter& out, const Scan& scan) {
  out.array(scan.entries);
  out.array(scan.name_ends);
  out.text(scan.names);
  out.value(uint64_t{scan.texts.size()});
  for (const std::string& text : scan.texts) out.text(text);
  out.value(scan.left_out.files);
  out.value(scan.left_out.hidden);
  out.value(scan.left_out.damaged);
  out.text(scan.left_out.damaged_example);
  out.value(uint64_t{scan.left_out.examples.size()});
  for (const std::string& name : scan.left_out.examples) out.text(name);
}

Scan read_scan(CacheReader& in) {
  Scan scan;
  in.array(scan.entries);
  in.array(scan.name_ends);
  scan.names = in.text();
  for (uint64_t n = in.count(8); n > 0; --n) scan.texts.push_back(in.text());
  scan.left_out.files = in.value<int64_t>();
  scan.left_out.hidden = in.value<int64_t>();
  scan.left_out.damaged = in.value<int64_t>();
  scan.left_out.damaged_example = in.text();
  for (uint64_t n = in.count(8); n > 0; --n) scan.left_out.examples.push_back(in.text());
  return scan;
}

// Whether all indices are valid. Another program may have written the cache.
bool is_consistent(const Scan& scan) {
  const auto texts = static_cast<int64_t>(scan.texts.size());
  return scan.name_ends.size() == scan.entries.size() &&
         are_ends(scan.name_ends, scan.names.size()) &&
         std::all_of(scan.entries.begin(), scan.entries.end(), [&](const ScanEntry& entry) {
           return entry.text >= -1 && entry.text < texts && entry.number >= kNoNumber;
         });
}

}  // namespace

int32_t Scan::place_of(const std::string& text) {
  const auto [found, fresh] = places.emplace(text, static_cast<int32_t>(texts.size()));
  if (fresh) texts.push_back(text);
  return found->second;
}

ScanCache::ScanCache(const std::string& cache_dir, std::string kind,
                     const std::vector<SourceFile>& files)
    : kind_(std::move(kind)), files_(files) {
  if (cache_dir.empty()) return;
  std::string all = kind_;
  for (const SourceFile& file : files)
    all += '\0' + std::filesystem::absolute(file.path).lexically_normal().string();
  path_ = cache_dir + "/" + cache_name(all) + ".scan";
}

std::vector<size_t> ScanCache::load(std::vector<Scan>& scans) const {
  scans.assign(files_.size(), {});
  std::vector<size_t> missing;
  const auto bytes = path_.empty() ? std::nullopt : read_if_readable(path_);
  CacheReader in(bytes ? *bytes : std::string_view(), kScanCache);
  if (in.text() != kind_) in = CacheReader({}, kScanCache);
  std::unordered_map<std::string, std::pair<FileStamp, Scan>> known;
  for (uint64_t n = in.count(32); n > 0; --n) {
    std::string path = in.text();
    const auto stamp = in.value<FileStamp>();
    Scan scan = read_scan(in);
    if (is_consistent(scan)) known[std::move(path)] = {stamp, std::move(scan)};
  }
  const bool whole = in.good() && in.at_end();
  for (size_t i = 0; i < files_.size(); ++i) {
    const auto found = known.find(files_[i].path);
    if (whole && found != known.end() && found->second.first == files_[i].stamp) {
      scans[i] = found->second.second;
    } else {
      missing.push_back(i);
    }
  }
  return missing;
}

void ScanCache::save(const std::vector<Scan>& scans) const {
  if (path_.empty()) return;
  if (std::any_of(files_.begin(), files_.end(),
                  [](const SourceFile& file) { return changed_recently(file.stamp.modified_ns); }))
    return;
  CacheWriter out(kScanCache);
  out.text(kind_);
  out.value(uint64_t{files_.size()});
  for (size_t i = 0; i < files_.size(); ++i) {
    out.text(files_[i].path);
    out.value(files_[i].stamp);
    write_scan(out, scans[i]);
  }
  write_cache(path_, out.finish());
}

}  // namespace shoal::data
