#include "train/weights/formats/safetensors.h"

#include "base/json.h"
#include "train/weights/formats/parse_file.h"
#include "train/weights/formats/torch_tensor.h"

namespace shoal::train {

using Json = nlohmann::ordered_json;

void write_safetensors(const Safetensors& content,
                       const std::function<void(const void*, size_t)>& sink) {
  Json header;
  if (!content.metadata.empty()) header["__metadata__"] = content.metadata;
  std::vector<at::Tensor> tensors;
  uint64_t end = 0;
  // Integers, whose elements are larger, come first, so that all tensors are aligned.
  for (const bool floating : {false, true}) {
    for (const auto& [name, value] : content.tensors) {
      if (value.is_floating_point() != floating) continue;
      const at::Tensor tensor =
          value.detach().to(at::kCPU, floating ? at::kFloat : at::kLong).contiguous();
      const uint64_t begin = end;
      end += tensor.nbytes();
      header[name] = {{"dtype", floating ? "F32" : "I64"},
                      {"shape", tensor.sizes().vec()},
                      {"data_offsets", {begin, end}}};
      tensors.push_back(tensor);
    }
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  unsigned char length[kSafetensorsLengthBytes];
  for (size_t i = 0; i < kSafetensorsLengthBytes; ++i)
    length[i] = static_cast<unsigned char>(uint64_t{text.size()} >> (8 * i));
  sink(length, sizeof length);
  sink(text.data(), text.size());
  for (const at::Tensor& tensor : tensors) sink(tensor.const_data_ptr(), tensor.nbytes());
}

Safetensors read_safetensors(const std::vector<char>& bytes, const std::string& where) {
  return parse_file(where, "a whole safetensors file", [&] {
    SafetensorsHeader header = read_safetensors_header(bytes);
    return Safetensors{copied_tensors(header.tensors), std::move(header.metadata)};
  });
}

}  // namespace shoal::train
