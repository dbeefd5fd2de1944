#pragma once
// The images found in one file of a source, and their cache on disk.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/container/image_files.h"
#include "data/container/open_files.h"

namespace shoal::data {

constexpr int64_t kNoNumber = -1;

// An image in a file, with the label stored beside it.
struct ScanEntry {
  uint64_t offset = 0, bytes = 0;   // of the image in the file
  uint32_t before = 0, behind = 0;  // bytes of its record before and after the image, see Image
  int32_t text = -1;                // index of its label in Scan::texts; -1: none
  uint32_t unused = 0;              // instead of padding, because the cache stores raw bytes
  int64_t number = kNoNumber;       // its label as a number; kNoNumber: none
};

struct Scan {
  std::vector<ScanEntry> entries;
  std::vector<uint64_t> name_ends;  // per entry: offset of its name's end in `names`
  std::string names;                // names of all entries, concatenated
  std::vector<std::string> texts;   // all labels that are texts, each once
  LeftOut left_out;

  size_t size() const { return entries.size(); }
  std::string_view name(size_t i) const {
    const uint64_t begin = i == 0 ? 0 : name_ends[i - 1];
    return std::string_view(names).substr(begin, name_ends[i] - begin);
  }
  void add(const ScanEntry& entry, std::string_view name) {
    entries.push_back(entry);
    names += name;
    name_ends.push_back(names.size());
  }
  // Returns the index of `text` in `texts`, after adding it if it is new. While a file is scanned,
  // only this function may add to `texts`.
  int32_t place_of(const std::string& text);

  std::unordered_map<std::string, int32_t> places;  // text to index; not cached
};

// Caches scans on disk between runs. `cache_dir`: folder of the cache; if empty, nothing is cached.
// `kind`: the format, and all options that affect the scan. `files` must outlive the cache.
class ScanCache {
 public:
  ScanCache(const std::string& cache_dir, std::string kind, const std::vector<SourceFile>& files);

  // Sets scans[i] to the scan of file i, or to an empty one if the file has changed or is not in
  // the cache. Returns the indices of the files that must be scanned.
  std::vector<size_t> load(std::vector<Scan>& scans) const;

  // Saves the scans of all files. Does nothing without a cache folder, or if a file changed so
  // recently that another change might not alter its timestamp. Throws what write_cache() throws.
  void save(const std::vector<Scan>& scans) const;

 private:
  std::string path_, kind_;
  const std::vector<SourceFile>& files_;
};

}  // namespace shoal::data
