#include "train/weights/formats/safetensors_header.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/json.h"

namespace shoal::train {
namespace {

constexpr uint64_t kMaxHeader = uint64_t{100} << 20;  // bytes; the format allows 100 MB
constexpr uint64_t kMaxParsed = uint64_t{10} << 20;   // bytes of header; 100,000 tensors need 10 MB

Element element_of(const std::string& name) {
  static const std::map<std::string, Element> types = {
      {"F64", Element::f64},     {"F32", Element::f32}, {"F16", Element::f16},
      {"BF16", Element::bf16},   {"I64", Element::i64}, {"I32", Element::i32},
      {"I16", Element::i16},     {"I8", Element::i8},   {"U8", Element::u8},
      {"BOOL", Element::boolean}};
  const auto found = types.find(name);
  if (found == types.end())
    throw std::runtime_error("tensors of dtype " + name.substr(0, 40) + " are not supported");
  return found->second;
}

uint64_t header_length(std::span<const char> bytes) {
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  return length;
}

std::vector<int64_t> whole_numbers(const nlohmann::json& list) {
  std::vector<int64_t> numbers;
  for (const nlohmann::json& value : list) {
    const auto number = whole_number(value);
    if (!number) throw std::runtime_error("a size or offset is not a whole number");
    numbers.push_back(*number);
  }
  return numbers;
}

struct Placed {
  uint64_t begin = 0, end = 0;  // bytes after the end of the header
  std::string name;
  StoredTensor tensor;
};

// Returns the tensor that an entry of the header describes. `data`: the bytes after the header.
// Throws std::exception if the entry is malformed.
Placed placed(const std::string& name, const nlohmann::json& entry, std::span<const char> data) {
  Placed one;
  one.name = name;
  one.tensor.element = element_of(entry.at("dtype").get<std::string>());
  one.tensor.sizes = whole_numbers(entry.at("shape"));
  const std::vector<int64_t> offsets = whole_numbers(entry.at("data_offsets"));
  const size_t width = bytes_of(one.tensor.element);
  const uint64_t count = count_elements(one.tensor.sizes, data.size() / width);
  if (offsets.size() != 2) throw std::runtime_error("a tensor's data_offsets are not two numbers");
  one.begin = static_cast<uint64_t>(offsets[0]);
  one.end = static_cast<uint64_t>(offsets[1]);
  if (one.begin > one.end || one.end > data.size() || one.end - one.begin != count * width)
    throw std::runtime_error("a tensor's data_offsets do not fit its shape or the file");
  one.tensor.first = data.data() + one.begin;
  return one;
}

}  // namespace

bool is_safetensors(std::span<const char> bytes) {
  if (bytes.size() < kSafetensorsLengthBytes + 2 || bytes[kSafetensorsLengthBytes] != '{')
    return false;
  const uint64_t length = header_length(bytes);
  return length >= 2 && length <= kMaxHeader;
}

SafetensorsHeader read_safetensors_header(std::span<const char> bytes) {
  if (!is_safetensors(bytes) || header_length(bytes) > bytes.size() - kSafetensorsLengthBytes)
    throw std::runtime_error("its header is incomplete");
  const uint64_t length = header_length(bytes);
  if (length > kMaxParsed) throw std::runtime_error("its header is larger than 10 MiB");
  const std::string_view text(bytes.data() + kSafetensorsLengthBytes, length);
  const auto data = bytes.subspan(kSafetensorsLengthBytes + length);
  const nlohmann::json json = parse_json(text);
  if (!json.is_object()) throw std::runtime_error("its header is not a JSON object");
  SafetensorsHeader header;
  std::vector<Placed> all;
  for (const auto& [name, entry] : json.items()) {
    if (name == "__metadata__")
      header.metadata = entry.get<std::map<std::string, std::string>>();
    else
      all.push_back(placed(name, entry, data));
  }
  std::sort(all.begin(), all.end(), [](const Placed& a, const Placed& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t end = 0;
  for (Placed& one : all) {
    if (one.begin < end) throw std::runtime_error("its tensors overlap");
    end = one.end;
    header.tensors.emplace_back(std::move(one.name), std::move(one.tensor));
  }
  return header;
}

}  // namespace shoal::train
