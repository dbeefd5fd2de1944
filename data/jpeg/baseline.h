#pragma once
// shoal's own decoder for the most common kind of JPEG (header.h). Decodes a requested part of an
// image. With a seek index (seek_index.h), skips nearly everything else.
//
// Pixels equal those of libjpeg-turbo bit for bit (accurate integer IDCT, smooth upsampling). The
// only exceptions are damaged blocks whose coefficients overflow 16 bits. The input is not trusted:
// the decoder never reads outside the given bytes. If open() or start() returns false, the caller
// must decode the image with libjpeg-turbo, which reports any damage.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/geometry.h"
#include "data/jpeg/code_table.h"
#include "data/jpeg/header.h"
#include "data/jpeg/kernels.h"
#include "data/jpeg/planes.h"
#include "data/jpeg/seek_index.h"

namespace shoal::data::jpeg {

// Use one object per thread; it reuses its memory.
class BaselineDecoder {
 public:
  explicit BaselineDecoder(Isa isa = best_isa());
  BaselineDecoder(const BaselineDecoder&) = delete;  // has pointers to its own members
  BaselineDecoder& operator=(const BaselineDecoder&) = delete;

  // Reads the header. `bytes` must stay valid while this image is decoded. Returns false if
  // read_header() rejects the file, or if the file has no end-of-image marker or exceeds 4 GiB.
  bool open(std::span<const uint8_t> bytes);
  Size size() const { return header_.size; }

  // Decodes the MCUs (minimum coded units) that `box` needs. `box`: in pixels, inside the image,
  // not empty. If `index` is not null, uses its entries, and adds one for each segment that
  // decoding reaches. Returns false if `box` is too large to be decoded at once or the image is
  // damaged, and sometimes if `index` belongs to another image. Clears an index that turns out not
  // to match, and the index of a damaged image.
  bool start(const Box& box, SeekIndex* index);

  // After start(): returns the next rows of the box, from the top; a count of 0 after the last row.
  // The rows are valid until the next call. `padding` bytes after each row are readable.
  RowBlock next(int64_t padding);

  // After start(): the decoded planes. Valid until the next open() or start().
  Planes& planes() { return planes_; }

  // After open(): extends the index to the whole image. Returns false if the image is damaged. Do
  // not call next() or planes() afterwards: complete() may have decoded another box.
  bool complete(SeekIndex& index);

 private:
  bool decode_known(const SeekIndex& index);
  bool decode_serial(SeekIndex& index, bool keep);
  struct Lane;
  bool begin_row(Lane& lane, int64_t row, const SeekIndex& index);
  bool attach(Lane& lane, const SeekPoint& point, size_t to);
  bool begin_part(Lane& lane, int64_t mcus);
  void end_part(Lane& lane);
  bool end_row(const Lane& lane, const SeekIndex& index);
  bool end_in_sight() const;
  void make_kinds();

  // State of decoding one row of MCUs. Kernels::decode_two() decodes two lanes in one loop.
  struct Lane {
    Stream stream{};
    std::vector<uint8_t> clean;  // the entropy-coded bytes without stuffing
    std::vector<int16_t> coefficients;
    int64_t row = -1;                    // row of MCUs; -1: none
    int64_t column = 0, column_end = 0;  // range of MCU columns that is being decoded
  };

  const Kernels& kernels_;
  std::span<const uint8_t> bytes_;
  Header header_;
  std::vector<CodeTableBuilder> dc_tables_, ac_tables_;
  BlockKind kinds_[6] = {};
  Planes planes_;
  McuBox mcus_;
  // The segments [first_segment_, segment_end_) of each row overlap mcus_.
  int64_t first_segment_ = 0, segment_end_ = 0;
  Lane lanes_[2];
  SeekIndex forgotten_;  // replaces the index if the caller passes none

  Box box_;
  int64_t delivered_ = 0;  // rows of box_ returned so far
  std::vector<uint8_t> block_;
};

}  // namespace shoal::data::jpeg
