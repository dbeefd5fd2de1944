#pragma once
// Reads packed sets (format.h).

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/file.h"
#include "data/jpeg/seek_index.h"
#include "data/pack/format.h"

namespace shoal::data {

// Returns the value of PackHeader::check. `behind`: the table and the text.
uint64_t pack_check(const PackHeader& header, std::span<const uint8_t> behind);

// Keeps the file's table in memory, and reads each image with pread(). Does not map the file into
// memory, so a bad disk block damages only one image, and a file that becomes shorter causes an
// error instead of SIGBUS. Each read checks the image's hash, except repeated reads of raw pixels,
// for which the check would take as long as the read.
class PackedDataset : public BasicDataset {
 public:
  // Throws std::invalid_argument with the path if the file is not a packed set, has another
  // version, is cut short or has a damaged table; std::runtime_error for system errors.
  explicit PackedDataset(const std::string& path);

  int64_t size() const override { return static_cast<int64_t>(entries_.size()); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int32_t label(int64_t sample) const override { return entry(sample).label; }
  std::string name(int64_t sample) const override;
  std::string key(int64_t sample) const override;
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override;
  void will_read(int64_t first, int64_t count) const override;
  // Like read(), but always checks the hash.
  void read_checked(int64_t sample, std::vector<uint8_t>& bytes) const;
  bool seek_index(int64_t sample, jpeg::SeekIndex& index) const override;
  bool keeps_indexes() const override { return true; }
  uint64_t stored_hash(int64_t sample) const override { return entry(sample).check; }

  const PackEntry& entry(int64_t sample) const { return entries_[static_cast<size_t>(sample)]; }
  uint64_t file_bytes() const { return header_.end; }
  // `request` of the file (see format.h), in hexadecimal; empty in files from early versions.
  const std::string& request() const { return request_; }

 private:
  void read_part(uint64_t offset, uint64_t bytes, std::vector<uint8_t>& to) const;
  std::string text_at(uint64_t offset) const;

  std::string path_;
  File file_;
  PackHeader header_;
  std::vector<uint8_t> table_;  // the file from header_.table to its end
  std::span<const PackEntry> entries_;
  std::vector<std::string> classes_;
  std::vector<uint64_t> names_;  // offsets of the image names in the file
  std::string request_;
  std::unique_ptr<std::atomic<bool>[]> checked_;  // per sample: whether its hash has been checked
};

// Whether `path` is a file that begins with kPackMagic.
bool is_packed_set(const std::string& path);

// Reads and checks all images with `threads` threads. Calls `damaged` with a sentence for each
// damaged image, from any thread, one call at a time. Returns the number of damaged images.
int64_t verify_pack(const PackedDataset& pack, int threads,
                    const std::function<void(const std::string&)>& damaged);

}  // namespace shoal::data
