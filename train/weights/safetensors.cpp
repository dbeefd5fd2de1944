#include "train/weights/safetensors.h"

#include <ATen/ops/empty.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "train/weights/parse_file.h"

namespace shoal::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kLargestHeader = uint64_t{100} << 20;  // the format's limit

struct Type {
  const char* name;
  at::ScalarType scalar;
};
constexpr Type kTypes[] = {{"F64", at::kDouble},    {"F32", at::kFloat}, {"F16", at::kHalf},
                           {"BF16", at::kBFloat16}, {"I64", at::kLong},  {"I32", at::kInt},
                           {"I16", at::kShort},     {"I8", at::kChar},   {"U8", at::kByte}};

uint64_t header_length(const std::vector<char>& bytes) {
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i)
    length |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return length;
}

at::ScalarType scalar_type(const std::string& name) {
  for (const Type& type : kTypes) {
    if (name == type.name) return type.scalar;
  }
  throw std::runtime_error("tensors of dtype " + name + " are not supported");
}

// Reads one tensor. `data` are the bytes after the header. Throws std::exception.
at::Tensor tensor_of(const Json& entry, const char* data, uint64_t size) {
  const auto type = scalar_type(entry.at("dtype").get<std::string>());
  const auto shape = entry.at("shape").get<std::vector<int64_t>>();
  const auto offsets = entry.at("data_offsets").get<std::vector<uint64_t>>();
  uint64_t count = c10::elementSize(type);
  for (const int64_t side : shape) {
    if (side < 0 || (side > 0 && count > size / static_cast<uint64_t>(side)))
      throw std::runtime_error("a tensor is larger than the file");
    count *= static_cast<uint64_t>(side);
  }
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > size ||
      offsets[1] - offsets[0] != count) {
    throw std::runtime_error("a tensor lies outside the file");
  }
  at::Tensor tensor = at::empty(shape, type);
  if (count > 0) std::memcpy(tensor.mutable_data_ptr(), data + offsets[0], count);
  return tensor;
}

}  // namespace

void write_safetensors(const Safetensors& content,
                       const std::function<void(const void*, size_t)>& sink) {
  Json header;
  if (!content.metadata.empty()) header["__metadata__"] = content.metadata;
  std::vector<at::Tensor> tensors;
  uint64_t end = 0;
  for (const auto& [name, value] : content.tensors) {
    const bool floating = value.is_floating_point();
    const at::Tensor tensor =
        value.detach().to(at::kCPU, floating ? at::kFloat : at::kLong).contiguous();
    const uint64_t begin = end;
    end += tensor.nbytes();
    header[name] = {{"dtype", floating ? "F32" : "I64"},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {begin, end}}};
    tensors.push_back(tensor);
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  unsigned char length[kLengthBytes];
  for (size_t i = 0; i < kLengthBytes; ++i)
    length[i] = static_cast<unsigned char>(uint64_t{text.size()} >> (8 * i));
  sink(length, sizeof length);
  sink(text.data(), text.size());
  for (const at::Tensor& tensor : tensors) sink(tensor.const_data_ptr(), tensor.nbytes());
}

bool is_safetensors(const std::vector<char>& bytes) {
  if (bytes.size() < kLengthBytes + 2 || bytes[kLengthBytes] != '{') return false;
  const uint64_t length = header_length(bytes);
  return length >= 2 && length <= kLargestHeader;
}

Safetensors read_safetensors(const std::vector<char>& bytes, const std::string& where) {
  return parse_file(where, "a whole safetensors file", [&] {
    if (!is_safetensors(bytes) || header_length(bytes) > bytes.size() - kLengthBytes)
      throw std::runtime_error("its header is incomplete");
    const uint64_t length = header_length(bytes);
    const char* begin = bytes.data() + kLengthBytes;
    const Json header = Json::parse(begin, begin + length);
    Safetensors content;
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        content.metadata = entry.get<std::map<std::string, std::string>>();
        continue;
      }
      content.tensors.emplace_back(
          name, tensor_of(entry, begin + length, bytes.size() - kLengthBytes - length));
    }
    return content;
  });
}

}  // namespace shoal::train
