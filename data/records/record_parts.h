#pragma once
// Reads the records of RecordIO files. A record consists of one or more parts (record_io.h).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/byte_source.h"
#include "data/container/label_text.h"
#include "data/file.h"

namespace shoal::data {

// The head of each part of a record.
struct PartHead {
  enum Kind : uint32_t { whole = 0, first = 1, middle = 2, last = 3 };
  static constexpr uint32_t kMagic = 0xced7230a;
  uint32_t magic = 0, word = 0;
  uint32_t kind() const { return word >> 29; }
  uint32_t bytes() const { return word & ((1u << 29) - 1); }
  uint64_t padded() const { return (uint64_t{bytes()} + 3) / 4 * 4; }
  bool begins() const { return kind() == whole || kind() == first; }
  bool ends() const { return kind() == whole || kind() == last; }
};
static_assert(sizeof(PartHead) == 8);

struct RecordExtent {
  uint64_t begin = 0, end = 0;  // offsets in the file; the range includes heads and padding
  uint64_t bytes = 0;           // size of the payload, with the magic numbers put back
  uint32_t parts = 1;
};

// Whether the bytes begin with the magic number of a part.
bool begins_record_io(std::span<const uint8_t> bytes);

// Splits RecordIO bytes into records and joins the parts of each record.
class RecordIoReader {
 public:
  explicit RecordIoReader(ByteSource& source) : source_(source) {}

  // Reads the next record; returns false at the end. If `payload` is not null, stores the record's
  // payload in it. Throws std::invalid_argument naming record and position if the record is
  // damaged, cut short, or (with `payload`) larger than kMaxFileBytes.
  bool next(RecordExtent& record, std::vector<uint8_t>* payload = nullptr);
  int64_t number() const { return number_; }  // number of the last record read, counted from 0
  std::string name() const { return "record " + std::to_string(number_); }
  // Throws std::invalid_argument: "SOURCE:record NUMBER WHAT (before byte POSITION)".
  [[noreturn]] void refuse(const std::string& what) const { refuse(number_, what); }
  [[noreturn]] void refuse(int64_t number, const std::string& what) const;

 private:
  ByteSource& source_;
  int64_t number_ = -1;
};

// Reads `bytes` bytes of a payload, starting at its byte `from`. `record`: offset of the record in
// the file. Returns false if the file has become shorter or has changed.
bool read_payload(const File& file, uint64_t record, uint64_t from, uint8_t* to, uint64_t bytes);

// Pairs images with labels that are separate records. A label belongs to the image before it if
// that image has no label yet, else to the image after it.
class LabelPairing {
 public:
  // Call for each image. Returns its label if the label came before it.
  std::optional<LabelText> image() {
    image_waits_ = !label_;
    return std::exchange(label_, std::nullopt);
  }
  // Call for each label. Returns true if the label belongs to the last image. Otherwise keeps the
  // label for the next image.
  bool label(const LabelText& label) {
    if (std::exchange(image_waits_, false)) return true;
    label_ = label;
    return false;
  }
  bool image_waits() const { return image_waits_; }
  bool label_waits() const { return label_.has_value(); }

 private:
  bool image_waits_ = false;
  std::optional<LabelText> label_;
};

}  // namespace shoal::data
