#pragma once
// shoal's own decoder for the common kind of JPEG (header.h). Decodes the requested part of an
// image; with a seek index it skips nearly everything else.
//
// Pixels equal those of libjpeg-turbo bit for bit (accurate integer IDCT, smooth upsampling). The
// input is not trusted: the decoder never reads outside the given bytes. If a function returns
// false, the image is of another kind or may be damaged; libjpeg-turbo must then decode it or
// report the damage.

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

// Use one object per thread. Keeps its memory from image to image.
class BaselineDecoder {
 public:
  explicit BaselineDecoder(Isa isa = best_isa());
  BaselineDecoder(const BaselineDecoder&) = delete;  // has pointers to its own members
  BaselineDecoder& operator=(const BaselineDecoder&) = delete;

  // Reads the header. `bytes` must stay valid while this image is decoded. Returns false for
  // another kind of JPEG, and if the file has no end-of-image marker.
  bool open(std::span<const uint8_t> bytes);
  Size size() const { return header_.size; }

  // Decodes the part that `box` (inside the image, not empty) needs. If `index` is not null, uses
  // its entries, and adds an entry for each seek point that decoding reaches. Clears the index if
  // it belongs to another image. Returns false if the image is damaged or too large to be decoded
  // at once, and possibly if the index belonged to another image.
  bool start(const Box& box, SeekIndex* index);

  // After start(): returns the next rows of the box, from the top; a count of 0 after the last one.
  // They are valid until the next call. `padding` bytes after each row are readable.
  RowBlock next(int64_t padding);

  // After start(): the decoded planes.
  Planes& planes() { return planes_; }

  // After open(): extends the index to the whole image. This may replace the box of start(), so do
  // not call next() or planes() afterwards. Returns false if the image is damaged.
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

  // Decodes one row of MCUs; two lanes run side by side.
  struct Lane {
    Stream stream{};
    std::vector<uint8_t> clean;  // the row's bytes without stuffing
    std::vector<int16_t> coefficients;
    int64_t row = -1;                    // row of MCUs; -1: none
    int64_t column = 0, column_end = 0;  // MCUs of the current part
  };

  const Kernels& kernels_;
  std::span<const uint8_t> bytes_;
  Header header_;
  std::vector<CodeTableBuilder> dc_tables_, ac_tables_;
  BlockKind kinds_[6] = {};
  Planes planes_;
  McuBox mcus_;
  int64_t first_segment_ = 0, segment_end_ = 0;  // segments of each row that contain mcus_
  Lane lanes_[2];
  SeekIndex forgotten_;  // used if the caller passes no index

  Box box_;
  int64_t delivered_ = 0;  // rows of box_ returned so far
  std::vector<uint8_t> block_;
};

}  // namespace shoal::data::jpeg
