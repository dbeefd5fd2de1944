#pragma once
// Our own decoder for the usual kind of JPEG (header.h): decodes the part of an image that is
// asked for, and with an index little else.
//
// Pixels are exactly libjpeg-turbo's (accurate integer IDCT, smooth upsampling). Input is not
// trusted: nothing outside the given bytes is read. Whatever it is not sure of it leaves to
// libjpeg-turbo, which then decides whether the image is damaged: that is what `false` means.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/image/geometry.h"
#include "data/jpeg/code_table.h"
#include "data/jpeg/header.h"
#include "data/jpeg/kernels.h"
#include "data/jpeg/planes.h"
#include "data/jpeg/seek_index.h"

namespace shoal::data::jpeg {

// One object per thread; it keeps its memory from image to image.
class BaselineDecoder {
 public:
  explicit BaselineDecoder(Isa isa = best_isa());
  BaselineDecoder(const BaselineDecoder&) = delete;  // it points into itself
  BaselineDecoder& operator=(const BaselineDecoder&) = delete;

  // Reads the header. `bytes` must stay until the image is done with. False: of another kind.
  bool open(std::span<const uint8_t> bytes);
  Size size() const { return header_.size; }

  // Decodes what `box` (inside the image, not empty) needs. `index`, when given, is used as far
  // as it reaches and extended by what is learnt on the way; a wrong one is emptied. False:
  // damaged, or so large that it should not be decoded at once.
  bool start(const Box& box, SeekIndex* index);

  // After start(): the next rows of the box, from the top; valid until the next call. `padding`
  // bytes behind each row can be read.
  RowBlock next(int64_t padding);

  // After start(): the samples themselves.
  Planes& planes() { return planes_; }

  // Extends the index to the whole image. False: damaged.
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

  struct Lane {
    Stream stream{};
    std::vector<uint8_t> clean;
    std::vector<int16_t> coefficients;
    int64_t row = -1;                    // none
    int64_t column = 0, column_end = 0;  // MCUs of the part that is being decoded
  };

  const Kernels& kernels_;
  std::span<const uint8_t> bytes_;
  Header header_;
  std::vector<CodeTableBuilder> dc_tables_, ac_tables_;
  BlockKind kinds_[6] = {};
  Planes planes_;
  McuBox mcus_;
  int64_t first_segment_ = 0, segment_end_ = 0;  // of each row, that hold the MCUs
  Lane lanes_[2];
  SeekIndex forgotten_;  // of an image whose index nobody wants

  Box box_;
  int64_t delivered_ = 0;  // rows
  std::vector<uint8_t> block_;
};

}  // namespace shoal::data::jpeg
