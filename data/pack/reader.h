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
#include "data/pack/format.h"

namespace shoal::data {

// The checksum of a header with the table and the text.
uint64_t pack_check(const PackHeader& header, std::span<const uint8_t> behind);

// The table is mapped, and all processes share it; images are read, so that a place that a disk
// cannot read is a damaged image and not a signal. Reading checks each image's hash, that of
// pixels the first time only, as it takes as long as reading them; DamagedImage names what is wrong.
class PackedDataset : public Dataset {
 public:
  // Throws std::invalid_argument with the path when it is no packed set, one of another version, or
  // cut short or damaged in its table; std::runtime_error where the system fails.
  explicit PackedDataset(const std::string& path);
  ~PackedDataset() override;
  PackedDataset(const PackedDataset&) = delete;
  PackedDataset& operator=(const PackedDataset&) = delete;

  int64_t size() const override { return static_cast<int64_t>(entries_.size()); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int32_t label(int64_t sample) const override { return entry(sample).label; }
  std::string name(int64_t sample) const override;
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override;
  void will_read(int64_t first, int64_t count) const override;
  // read(), which checks in any case.
  void read_checked(int64_t sample, std::vector<uint8_t>& bytes) const;
  bool seek_index(int64_t sample, jpeg::SeekIndex& index) const override;
  bool keeps_indexes() const override { return true; }

  const PackEntry& entry(int64_t sample) const { return entries_[static_cast<size_t>(sample)]; }
  uint64_t file_bytes() const { return file_.size(); }
  // What the writer was asked for; empty in files of its first versions.
  const std::string& request() const { return request_; }

 private:
  void read_part(uint64_t offset, uint64_t bytes, std::vector<uint8_t>& to) const;
  std::span<const uint8_t> part(uint64_t offset, uint64_t bytes) const;

  std::string path_;
  File images_;
  std::span<const uint8_t> file_;
  std::span<const PackEntry> entries_;
  std::vector<std::string> classes_;
  std::vector<uint64_t> names_;  // offsets of the images' names
  std::string request_;
  std::unique_ptr<std::atomic<bool>[]> checked_;  // by sample: its bytes have had their checksum
};

// True when the file begins as a packed set does.
bool is_packed_set(const std::string& path);

// Reads everything on `threads` threads. Calls `damaged` with a sentence for each damaged image,
// one at a time; returns how many there are.
int64_t verify_pack(const PackedDataset& pack, int threads,
                    const std::function<void(const std::string&)>& damaged);

}  // namespace shoal::data
