#pragma once
// The images found in one file of a source, and their cache on disk.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/folder/image_files.h"
#include "data/sources/open_files.h"

namespace shoal::data {

constexpr int64_t kNoNumber = -1;

// An image in a file, with the label stored beside it.
struct ScanEntry {
  uint64_t offset = 0, bytes = 0;   // of the image in the file
  uint32_t before = 0, behind = 0;  // bytes of its record before and behind, for checksums
  int32_t text = -1;                // index of its label in `texts`; -1: none
  uint32_t unused = 0;
  int64_t number = kNoNumber;  // its label as a number; kNoNumber: none
};

struct Scan {
  std::vector<ScanEntry> entries;
  std::vector<uint64_t> name_ends;  // per entry: end of its name in `names`
  std::string names;                // all names, one after the other
  std::vector<std::string> texts;   // different labels
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
  // Returns the index of `text` in `texts`, after adding it if it is new.
  int32_t place_of(const std::string& text);
};

// Cache of scans between runs. `kind`: the format and all options that change what is found.
class ScanCache {
 public:
  ScanCache(const std::string& cache_dir, std::string kind, const std::vector<SourceFile>& files);

  // Sets the scans of files that have not changed; returns the indices of the others.
  std::vector<size_t> load(std::vector<Scan>& scans) const;

  // Does nothing without a cache folder, or if a file changed so recently that another change might
  // leave its time as it is. Throws std::runtime_error.
  void save(const std::vector<Scan>& scans) const;

 private:
  std::string path_, kind_;
  const std::vector<SourceFile>& files_;
};

}  // namespace shoal::data
