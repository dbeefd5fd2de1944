#pragma once
// A packed set in several files: a folder with 00000.pack, 00001.pack, … and the list `shards.txt`.
// The lines of the list are:
//   "shoal packed set, request HASH", with the hash of the source's listing and the settings;
//   for each finished file, the index of the source's first sample after this file;
//   "whole", once the set is complete.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/pack/reader.h"

namespace shoal::data {

// Reads and writes the list while a set is written. Throws std::runtime_error with path and reason
// for system errors.
class ShardList {
 public:
  // Continues the list of an earlier run with the same `request`. Starts a new list if the folder
  // is empty or does not exist. With `overwrite`, close() replaces a set that is complete or has
  // another `request`. Until then, the new files are in a hidden folder and the old set can be
  // read. Throws std::invalid_argument if `folder` is a file; if it contains a set with another
  // `request` and `overwrite` is false; if it contains other files but no packed set; or if it
  // contains a file that has the name of a packed file but is not in the list.
  ShardList(const std::string& folder, uint64_t request, bool overwrite);

  bool whole() const { return whole_; }
  int64_t finished() const { return static_cast<int64_t>(next_.size()); }
  int64_t next_sample() const { return next_.empty() ? 0 : next_.back(); }
  std::string path_of(int64_t shard) const;

  void finish(int64_t next_sample);  // call when the file at path_of(finished()) is complete
  void close();                      // call after the last file

 private:
  void save() const;
  void replace_later();
  void replace();

  std::string folder_;  // where new files are written
  std::string target_;  // the folder of the set to replace, or empty
  uint64_t request_;
  std::vector<int64_t> next_;
  bool whole_ = false;
};

// Whether `path` is a folder that contains a list `shards.txt`.
bool is_sharded_set(const std::string& path);

// Returns the packed files of `path`: the file itself or, for a folder, the files that its
// shards.txt lists. Throws std::invalid_argument if the set is incomplete.
std::vector<std::string> packed_files(const std::string& path);

// All files of a packed set as one dataset.
class ShardedDataset : public BasicDataset {
 public:
  // Throws what PackedDataset and packed_files() throw, and std::invalid_argument if files have
  // different classes.
  explicit ShardedDataset(const std::string& folder);

  int64_t size() const override { return starts_.back(); }
  const std::vector<std::string>& classes() const override { return packs_[0]->classes(); }
  int32_t label(int64_t sample) const override;
  std::string name(int64_t sample) const override;
  std::string key(int64_t sample) const override;
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override;
  void will_read(int64_t first, int64_t count) const override;
  bool seek_index(int64_t sample, jpeg::SeekIndex& index) const override;
  bool keeps_indexes() const override { return true; }
  uint64_t stored_hash(int64_t sample) const override;

 private:
  struct Place {
    const PackedDataset& pack;
    int64_t sample;
  };
  Place place(int64_t sample) const;

  std::vector<std::unique_ptr<PackedDataset>> packs_;
  std::vector<int64_t> starts_ = {0};  // first sample of each file, then the number of all samples
};

}  // namespace shoal::data
