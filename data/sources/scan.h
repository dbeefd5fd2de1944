#pragma once
// What was found in one file of a source, and its cache on disk.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/folder/image_files.h"
#include "data/sources/open_files.h"

namespace shoal::data {

constexpr int64_t kNoNumber = -1;

// An image in a file, with the label that stands beside it.
struct ScanEntry {
  uint64_t offset = 0, bytes = 0;   // of the image in the file
  uint32_t before = 0, behind = 0;  // bytes of its record around it, for formats with checksums
  int32_t text = -1;                // its label's place in `texts`; -1: none
  uint32_t unused = 0;
  int64_t number = kNoNumber;  // its label as a number; kNoNumber: none
};

struct Scan {
  std::vector<ScanEntry> entries;
  std::vector<uint64_t> name_ends;  // per entry: where its name ends in `names`
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
  // The place of `text` in texts.
  int32_t place_of(const std::string& text);
};

// Where scans are kept between runs. `kind`: the format, and whatever else decides what is found.
class ScanCache {
 public:
  ScanCache(const std::string& cache_dir, std::string kind, const std::vector<SourceFile>& files);

  // Fills in the scans of files that are as they were; returns the numbers of the others.
  std::vector<size_t> load(std::vector<Scan>& scans) const;

  // Does nothing without a folder, and where a file changed so recently that a later change might
  // not move its time. Throws std::runtime_error.
  void save(const std::vector<Scan>& scans) const;

 private:
  std::string path_, kind_;
  const std::vector<SourceFile>& files_;
};

}  // namespace shoal::data
