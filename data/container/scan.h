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
  uint64_t offset = 0, bytes = 0;   // position and size of the image in the file
  uint32_t before = 0, behind = 0;  // see Image in catalogue.h
  int32_t text = -1;                // if the label is a name: its index in Scan::texts; else -1
  uint32_t unused = 0;              // explicit padding: the cache stores the bytes of the struct
  int64_t number = kNoNumber;       // if the label is a number: the number; else kNoNumber
};

struct Scan {
  std::vector<ScanEntry> entries;
  std::vector<uint64_t> name_ends;  // per entry: offset of its name's end in `names`
  std::string names;                // names of all entries, concatenated
  std::vector<std::string> texts;   // the labels that are names, each once
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
  // Returns the index of `text` in `texts`; adds it first if it is new. Nothing else may add to
  // `texts` during a scan.
  int32_t place_of(const std::string& text);
  bool has_text(const std::string& text) const { return places.contains(text); }

  std::unordered_map<std::string, int32_t> places;  // indices in `texts`; not stored in the cache
};

// Caches scans on disk between runs. `cache_dir`: folder of the cache; empty: nothing is cached.
// `kind`: names the format and all options that affect a scan. `files` must outlive this object.
class ScanCache {
 public:
  ScanCache(const std::string& cache_dir, std::string kind, const std::vector<SourceFile>& files);

  // Sets scans[i] to the scan of file i, or to an empty one if the file has changed or is not in
  // the cache. Returns the indices of the files that must be scanned.
  std::vector<size_t> load(std::vector<Scan>& scans) const;

  // Saves the scans of all files. Does nothing if there is no cache folder, or if a file changed so
  // recently that another change might not alter its timestamp. Throws what write_cache() throws.
  void save(const std::vector<Scan>& scans) const;

 private:
  std::string path_, kind_;
  const std::vector<SourceFile>& files_;
};

}  // namespace shoal::data
