#include "data/jpeg/baseline.h"

#include <algorithm>

#include "base/grow.h"
#include "data/stage_clock.h"

namespace shoal::data::jpeg {
namespace {

constexpr int64_t kRowsPerBlock = 16;
constexpr int64_t kMaxSamples = int64_t{1} << 25;  // per component in one call of start()

// Number of bits consumed since `begin`.
uint64_t consumed(const Stream& stream, const uint8_t* begin) {
  return static_cast<uint64_t>(stream.at - begin) * 8 - stream.count;
}

// Converts positions in the unstuffed bytes to positions in the file, where a stuffed 00 follows
// each ff. The positions in successive calls of point() must ascend.
class FilePlaces {
 public:
  FilePlaces(const uint8_t* clean, size_t file) : begin_(clean), at_(clean), file_(file) {}

  SeekPoint point(const Stream& stream) {
    const uint64_t bits = consumed(stream, begin_);
    const uint8_t* const to = begin_ + bits / 8;
    file_ += static_cast<size_t>(to - at_) + static_cast<size_t>(std::count(at_, to, 0xff));
    at_ = to;
    SeekPoint point{static_cast<uint32_t>(file_), static_cast<uint16_t>(bits % 8), {}};
    for (int i = 0; i < 3; ++i) point.predictor[i] = static_cast<int16_t>(stream.predictor[i]);
    return point;
  }

 private:
  const uint8_t *begin_, *at_;
  size_t file_;
};

bool ran_over(const Stream& stream, const uint8_t* begin) {
  return consumed(stream, begin) > static_cast<uint64_t>(stream.end - begin) * 8;
}

}  // namespace

BaselineDecoder::BaselineDecoder(Isa isa)
    : kernels_(kernels(isa)),
      dc_tables_(4, CodeTableBuilder(true)),
      ac_tables_(4, CodeTableBuilder(false)),
      planes_(kernels_) {}

bool BaselineDecoder::open(std::span<const uint8_t> bytes) {
  auto header = read_header(bytes);
  if (!header || bytes.size() > UINT32_MAX) return false;
  bytes_ = bytes;
  header_ = *header;
  make_kinds();
  return end_in_sight();
}

void BaselineDecoder::make_kinds() {
  BlockKind* next = kinds_;
  for (int32_t i = 0; i < header_.count; ++i) {
    const Component& component = header_.components[i];
    const auto dc = static_cast<size_t>(component.dc), ac = static_cast<size_t>(component.ac);
    const BlockKind kind{&dc_tables_[dc].build(header_.dc[dc]),
                         &ac_tables_[ac].build(header_.ac[ac]), nullptr, i};
    for (int b = 0; b < component.horizontal * component.vertical; ++b) {
      *next = kind;
      next->next = next + 1;
      ++next;
    }
  }
  next[-1].next = kinds_;
}

// Whether the file contains an end-of-image marker. start() does not decode rows below the box, so
// it would not notice that a file is truncated there.
bool BaselineDecoder::end_in_sight() const {
  for (size_t at = bytes_.size(); at >= header_.scan + 2; --at)
    if (bytes_[at - 1] == 0xd9 && bytes_[at - 2] == 0xff) return true;
  return false;
}

bool BaselineDecoder::start(const Box& box, SeekIndex* index) {
  box_ = box;
  delivered_ = 0;
  mcus_ = mcus_of(header_, box);
  const int64_t columns = mcus_.column_end - mcus_.column, rows = mcus_.row_end - mcus_.row;
  if (columns * header_.mcu_width() > kMaxSamples / (rows * header_.mcu_height())) return false;
  const Segments segments(header_);
  first_segment_ = mcus_.column / segments.width;
  segment_end_ = (mcus_.column_end + segments.width - 1) / segments.width;
  planes_.begin(header_, mcus_);
  forgotten_.clear();
  SeekIndex& known = index ? *index : forgotten_;
  const int64_t last = (mcus_.row_end - 1) * segments.per_row + segment_end_ - 1;
  if (static_cast<int64_t>(known.size()) > last) {
    if (decode_known(known)) return planes_.finish(), true;
    known.clear();  // the index belongs to another file, or the image is damaged
  }
  if (!decode_serial(known, /*keep=*/index != nullptr)) {
    known.clear();
    return false;
  }
  planes_.finish();
  return true;
}

// Decodes all rows of mcus_, two at a time. Starts each row at its position in the index.
bool BaselineDecoder::decode_known(const SeekIndex& index) {
  int64_t next = mcus_.row;
  const auto more = [&](Lane& lane) {
    lane.row = -1;
    return next == mcus_.row_end || begin_row(lane, next++, index);
  };
  if (!more(lanes_[0]) || !more(lanes_[1])) return false;
  for (;;) {
    const bool first = lanes_[0].row >= 0, second = lanes_[1].row >= 0;
    if (!first && !second) return true;
    if (first && second) {
      kernels_.decode_two(lanes_[0].stream, lanes_[1].stream);
    } else {
      kernels_.decode(lanes_[first ? 0 : 1].stream);
    }
    for (Lane& lane : lanes_) {
      if (lane.row < 0) continue;
      if (lane.stream.damaged) return false;
      if (lane.stream.block != lane.stream.block_end) continue;
      end_part(lane);
      if (!end_row(lane, index) || !more(lane)) return false;
    }
  }
}

// Starts to decode the segments of the row that overlap mcus_.
bool BaselineDecoder::begin_row(Lane& lane, int64_t row, const SeekIndex& index) {
  const Segments segments(header_);
  const int64_t at = row * segments.per_row + first_segment_;
  const auto end = static_cast<size_t>(row * segments.per_row + segment_end_);
  const SeekPoint& point = index[static_cast<size_t>(at)];
  // The range includes the byte in which the next segment starts, and its stuffed 00, if any.
  const size_t to = end < index.size()
                        ? std::min<size_t>(index[end].byte + size_t{2}, bytes_.size())
                        : bytes_.size();
  if (point.byte < header_.scan || point.byte >= to || point.bit > 7) return false;
  if (!attach(lane, point, to)) return false;
  lane.row = row;
  lane.column = first_segment_ * segments.width;
  return begin_part(lane, mcus_.column_end - lane.column);
}

// Removes the stuffing from the bytes [point.byte, to) and starts the lane's stream at `point`.
bool BaselineDecoder::attach(Lane& lane, const SeekPoint& point, size_t to) {
  grow(lane.clean, static_cast<int64_t>(to - point.byte) + kReadAhead);
  uint8_t* const begin = lane.clean.data();
  uint8_t* const end = kernels_.unstuff(bytes_.data() + point.byte, bytes_.data() + to, begin);
  if (end == begin) return false;
  std::fill_n(end, kReadAhead / 4, uint8_t{0});
  Stream& stream = lane.stream;
  stream.at = begin + 1;
  stream.end = end;
  stream.bits = static_cast<uint64_t>(*begin) << (56 + point.bit);
  stream.count = 8u - point.bit;
  stream.damaged = 0;
  std::copy_n(point.predictor, 3, stream.predictor);
  return true;
}

// Starts to decode `mcus` MCUs from lane.column on, but none to the right of mcus_.
bool BaselineDecoder::begin_part(Lane& lane, int64_t mcus) {
  lane.column_end = std::min(lane.column + mcus, mcus_.column_end);
  const int64_t places = 64 * (lane.column_end - lane.column) * header_.blocks_per_mcu();
  grow(lane.coefficients, places + 64);
  std::fill_n(lane.coefficients.data(), places, int16_t{0});
  Stream& stream = lane.stream;
  stream.block = lane.coefficients.data();
  stream.block_end = stream.block + places;
  stream.kind = kinds_;
  kernels_.begin(stream);
  return !stream.damaged;
}

void BaselineDecoder::end_part(Lane& lane) {
  lap(Stage::entropy);
  const int64_t first = std::max(lane.column, mcus_.column);
  planes_.add(lane.row, first, lane.column_end - first,
              lane.coefficients.data() + 64 * (first - lane.column) * header_.blocks_per_mcu());
  lap(Stage::transform);
}

// Whether decoding ended at the start of the next segment, as given by the index. If not, the index
// belongs to another file, or the image is damaged. Also returns true if this cannot be checked.
bool BaselineDecoder::end_row(const Lane& lane, const SeekIndex& index) {
  const Segments segments(header_);
  if (ran_over(lane.stream, lane.clean.data())) return false;
  const auto first = static_cast<size_t>(lane.row * segments.per_row + first_segment_);
  const auto end = static_cast<size_t>(lane.row * segments.per_row + segment_end_);
  const bool whole = segment_end_ * segments.width == mcus_.column_end ||
                     mcus_.column_end == header_.mcu_columns();
  if (!whole || end >= index.size()) return true;
  FilePlaces places(lane.clean.data(), index[first].byte);
  return places.point(lane.stream) == index[end];
}

// Decodes one segment after another. Starts at the first needed segment or, if the index does not
// reach it, at the last segment in the index. Does not store the coefficients of segments that the
// box does not need. `keep`: adds the segments to the index.
bool BaselineDecoder::decode_serial(SeekIndex& index, bool keep) {
  const Segments segments(header_);
  const int64_t columns = header_.mcu_columns(), blocks = header_.blocks_per_mcu();
  const int64_t wanted = mcus_.row * segments.per_row + first_segment_;
  if (index.empty()) index.push_back({static_cast<uint32_t>(header_.scan), 0, {}});
  int64_t at = std::min<int64_t>(wanted, static_cast<int64_t>(index.size()) - 1);
  const SeekPoint from = index[static_cast<size_t>(at)];
  if (from.byte < header_.scan || from.byte >= bytes_.size() || from.bit > 7) return false;

  Lane& lane = lanes_[0];
  Stream& stream = lane.stream;
  if (!attach(lane, from, bytes_.size())) return false;
  FilePlaces places(lane.clean.data(), from.byte);
  for (const int64_t last = (mcus_.row_end - 1) * segments.per_row + segment_end_ - 1; at <= last;
       ++at) {
    const int64_t row = at / segments.per_row, segment = at % segments.per_row;
    if (keep && at == static_cast<int64_t>(index.size())) index.push_back(places.point(stream));
    const int64_t first = segment * segments.width;
    const bool needed = row >= mcus_.row && segment >= first_segment_ && segment < segment_end_;
    int64_t mcus = std::min(segments.width, columns - first);
    if (needed) {
      lane.row = row;
      lane.column = first;
      if (!begin_part(lane, mcus)) return false;
      kernels_.decode(stream);
      if (stream.damaged) return false;
      end_part(lane);
      mcus -= lane.column_end - first;
    }
    if (mcus > 0 && at != last) {
      stream.kind = kinds_;
      kernels_.walk(stream, mcus * blocks);
    }
    if (stream.damaged || ran_over(stream, lane.clean.data())) return false;
  }
  return true;
}

bool BaselineDecoder::complete(SeekIndex& index) {
  const Segments segments(header_);
  if (static_cast<int64_t>(index.size()) >= segments.total()) return true;
  const Box last{header_.size.width - 1, header_.size.height - 1, 1, 1};
  return start(last, &index) && static_cast<int64_t>(index.size()) == segments.total();
}

RowBlock BaselineDecoder::next(int64_t padding) {
  const int64_t rows = std::min(kRowsPerBlock, box_.height - delivered_);
  if (rows == 0) return {};
  const int64_t stride = (3 * box_.width + std::max<int64_t>(padding, 64) + 63) / 64 * 64;
  grow(block_, stride * kRowsPerBlock + 64);
  for (int64_t i = 0; i < rows; ++i)
    planes_.rgb_row(box_.left, box_.top + delivered_ + i, box_.width, block_.data() + i * stride);
  delivered_ += rows;
  return {block_.data(), stride, rows};
}

}  // namespace shoal::data::jpeg
