// Format: a header of 128 bytes, then elements. An element is a type, a size, and the data padded
// to 8 bytes. A small element takes 8 bytes in all, at most 4 of them data. Type 15 is a compressed
// element. A matrix (type 14) contains elements: flags (including the matrix class), dimensions,
// name and content. The content of an array of structures is one length for all field names, the
// field names, and a matrix for every field of every structure.
#include "data/labels/mat_file.h"

#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "data/container/inflate.h"

namespace shoal::data {
namespace {

using Bytes = std::span<const uint8_t>;
constexpr size_t kMatHead = 128;
constexpr size_t kMaxUnpacked = size_t{64} << 20;
enum : uint32_t {
  kInt8 = 1,
  kUint8 = 2,
  kInt16 = 3,
  kUint16 = 4,
  kInt32 = 5,
  kUint32 = 6,
  kDouble = 9,
  kMatrix = 14,
  kCompressed = 15,
  kUtf16 = 17,
};
enum : uint32_t { kStructureClass = 2, kTextClass = 4 };

[[noreturn]] void no_meta() {
  throw std::invalid_argument("is not the devkit's meta.mat");
}

uint32_t word_at(Bytes bytes, size_t at) {
  uint32_t value = 0;
  if (at + sizeof value > bytes.size()) no_meta();
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

struct Element {
  uint32_t type = 0;
  Bytes data;
};

// Removes the first element from `rest` and returns it.
Element next_element(Bytes& rest) {
  const uint32_t first = word_at(rest, 0);
  Element element;
  size_t size = 0, begin = 8, taken = 8;
  if (first >> 16 != 0) {  // a small element
    element.type = first & 0xffff;
    size = first >> 16;
    begin = 4;
    if (size > 4) no_meta();
  } else {
    element.type = first;
    size = word_at(rest, 4);
    taken = 8 + (element.type == kCompressed ? size : (size + 7) / 8 * 8);
  }
  if (begin + size > rest.size()) no_meta();
  element.data = rest.subspan(begin, size);
  rest = rest.subspan(std::min(taken, rest.size()));
  return element;
}

struct Matrix {
  uint32_t kind = 0;
  uint64_t count = 1;
  std::string name;
  Bytes content;
};

Matrix matrix_of(const Element& element) {
  if (element.type != kMatrix) no_meta();
  Matrix matrix;
  if (element.data.empty()) return matrix;
  Bytes rest = element.data;
  matrix.kind = word_at(next_element(rest).data, 0) & 0xff;
  const Bytes sides = next_element(rest).data;
  for (size_t at = 0; at + 4 <= sides.size(); at += 4) matrix.count *= word_at(sides, at);
  const Bytes name = next_element(rest).data;
  matrix.name.assign(name.begin(), name.end());
  matrix.content = rest;
  return matrix;
}

// Reads one number. MATLAB stores whole numbers in the smallest integer type that fits.
double number_of_matrix(const Matrix& matrix) {
  Bytes rest = matrix.content;
  const Element element = next_element(rest);
  const auto as = [&](auto value) {
    if (element.data.size() < sizeof value) no_meta();
    std::memcpy(&value, element.data.data(), sizeof value);
    return static_cast<double>(value);
  };
  switch (element.type) {
    case kInt8:
      return as(int8_t{});
    case kUint8:
      return as(uint8_t{});
    case kInt16:
      return as(int16_t{});
    case kUint16:
      return as(uint16_t{});
    case kInt32:
      return as(int32_t{});
    case kUint32:
      return as(uint32_t{});
    case kDouble:
      return as(double{});
    default:
      no_meta();
  }
}

std::string text_of_matrix(const Matrix& matrix) {
  if (matrix.kind != kTextClass) no_meta();
  Bytes rest = matrix.content;
  const Element element = next_element(rest);
  const bool wide = element.type == kUint16 || element.type == kUtf16;  // 16 bits per character
  std::string text;
  for (size_t at = 0; at < element.data.size(); at += wide ? 2 : 1)
    text += static_cast<char>(element.data[at]);
  return text;
}

std::map<int64_t, std::string> read_structures(const Matrix& matrix) {
  Bytes rest = matrix.content;
  const uint32_t length = word_at(next_element(rest).data, 0);
  const Bytes names = next_element(rest).data;
  if (length == 0 || length > names.size()) no_meta();
  std::vector<std::string> fields;
  for (size_t at = 0; at + length <= names.size(); at += length) {
    const std::string_view name(reinterpret_cast<const char*>(names.data()) + at, length);
    fields.emplace_back(name.substr(0, name.find('\0')));
  }
  std::map<int64_t, std::string> classes;
  for (uint64_t i = 0; i < matrix.count; ++i) {
    double number = 0;
    std::string name;
    for (const std::string& field : fields) {
      const Matrix value = matrix_of(next_element(rest));
      if (field == "ILSVRC2012_ID") number = number_of_matrix(value);
      if (field == "WNID") name = text_of_matrix(value);
    }
    if (!(number >= 1 && number <= INT32_MAX) || name.empty()) no_meta();
    classes[static_cast<int64_t>(number)] = name;
  }
  return classes;
}

}  // namespace

bool is_mat_file(std::span<const uint8_t> bytes) {
  constexpr std::string_view kBegin = "MATLAB 5.0 MAT-file";
  return bytes.size() >= kMatHead && std::memcmp(bytes.data(), kBegin.data(), kBegin.size()) == 0;
}

std::map<int64_t, std::string> read_meta_mat(std::span<const uint8_t> bytes) {
  if (!is_mat_file(bytes)) no_meta();
  for (Bytes rest = bytes.subspan(kMatHead); !rest.empty();) {
    Element element = next_element(rest);
    std::vector<uint8_t> unpacked;
    if (element.type == kCompressed) {
      unpacked = inflate_head(element.data, kMaxUnpacked);
      Bytes inside = unpacked;
      element = next_element(inside);
    }
    if (element.type != kMatrix) continue;
    const Matrix matrix = matrix_of(element);
    if (matrix.kind == kStructureClass && matrix.name == "synsets") return read_structures(matrix);
  }
  no_meta();
}

}  // namespace shoal::data
