#include "train/torch_file.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <caffe2/serialize/inline_container.h>
#include <caffe2/serialize/read_adapter_interface.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

#include "train/pickle.h"

namespace shoal::train {
namespace {

using caffe2::serialize::PyTorchStreamReader;

// LibTorch's own reader of memory trusts the file to tell the truth about places in it.
class Bytes : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit Bytes(const std::vector<char>& bytes) : bytes_(bytes) {}
  size_t size() const override { return bytes_.size(); }
  // Fewer than `wanted` where the bytes end.
  size_t read(uint64_t from, void* to, size_t wanted, const char* /*what*/) const override {
    if (from >= bytes_.size()) return 0;
    const size_t count = std::min<size_t>(wanted, bytes_.size() - from);
    std::memcpy(to, bytes_.data() + from, count);
    return count;
  }

 private:
  const std::vector<char>& bytes_;
};

[[noreturn]] void damaged(const std::string& what) {
  throw std::runtime_error(what + " does not fit its storage");
}

at::ScalarType storage_type(const std::string& name) {
  static const std::map<std::string, at::ScalarType> types = {
      {"torch DoubleStorage", at::kDouble}, {"torch FloatStorage", at::kFloat},
      {"torch HalfStorage", at::kHalf},     {"torch BFloat16Storage", at::kBFloat16},
      {"torch LongStorage", at::kLong},     {"torch IntStorage", at::kInt},
      {"torch ShortStorage", at::kShort},   {"torch CharStorage", at::kChar},
      {"torch ByteStorage", at::kByte},     {"torch BoolStorage", at::kBool}};
  const auto found = types.find(name);
  if (found == types.end()) throw std::runtime_error("it holds tensors of " + name);
  return found->second;
}

// The call that makes a tensor; null where the value is none.
const PickleValue* tensor_call(const PickleValue* value) {
  // A parameter is made of a tensor.
  while (value->kind == PickleValue::Kind::call &&
         value->text.starts_with("torch._utils _rebuild_parameter") && !value->items.empty())
    value = value->items[0];
  const bool tensor =
      value->kind == PickleValue::Kind::call && value->text == "torch._utils _rebuild_tensor_v2";
  return tensor ? value : nullptr;
}

bool holds_tensors(const PickleValue* value) {
  if (value == nullptr || value->kind != PickleValue::Kind::dict) return false;
  for (size_t i = 1; i < value->items.size(); i += 2)
    if (tensor_call(value->items[i])) return true;
  return false;
}

// Its arguments: storage, offset, sizes, strides, …, all but the storage in elements; a storage is
// ("storage", type, record, device, elements).
at::Tensor make_tensor(PyTorchStreamReader& file, const PickleValue& call,
                       const std::string& name) {
  const auto& arguments = call.items;
  if (arguments.size() < 4 || arguments[0]->kind != PickleValue::Kind::persistent ||
      arguments[0]->items.size() < 5 || arguments[2]->items.size() != arguments[3]->items.size())
    damaged(name);
  const at::ScalarType type = storage_type(arguments[0]->items[1]->text);
  const auto [data, bytes] = file.getRecord("data/" + arguments[0]->items[2]->text);
  const auto width = static_cast<int64_t>(at::elementSize(type));
  const int64_t elements = static_cast<int64_t>(bytes) / width;
  const int64_t offset = arguments[1]->integer;
  std::vector<int64_t> sizes, strides;
  int64_t count = 1, last = offset;  // the element that lies furthest behind
  const auto is_empty = [](const PickleValue* size) { return size->integer == 0; };
  const auto& shape = arguments[2]->items;
  const bool empty = std::any_of(shape.begin(), shape.end(), is_empty);
  bool good = offset >= 0 && offset <= elements;
  for (size_t i = 0; good && i < shape.size(); ++i) {
    const int64_t size = shape[i]->integer;
    const int64_t stride = arguments[3]->items[i]->integer;
    sizes.push_back(size);
    strides.push_back(stride);
    if (empty) continue;
    good = size > 0 && size <= elements && stride >= 0 && stride <= INT32_MAX;
    if (good && size > 1) last += (size - 1) * stride;
    good = good && last <= elements;
    count *= good ? size : 0;
    good = good && count <= elements;
  }
  if (empty) return at::empty(sizes, at::TensorOptions().dtype(type));  // checks the sizes
  if (!good || last >= elements) damaged(name);
  char* const first = static_cast<char*>(data.get()) + offset * width;
  return at::from_blob(first, sizes, strides, at::TensorOptions().dtype(type))
      .clone(at::MemoryFormat::Contiguous);
}

std::string without_wrappers(std::string name) {
  for (bool more = true; more;) {
    more = false;
    for (const std::string prefix : {"module.", "_orig_mod."}) {
      if (!name.starts_with(prefix)) continue;
      name.erase(0, prefix.size());
      more = true;
    }
  }
  return name;
}

NamedTensors read(const std::vector<char>& bytes) {
  PyTorchStreamReader file(std::make_shared<Bytes>(bytes));
  const auto [text, size] = file.getRecord("data.pkl");
  const Pickle pickle(static_cast<const char*>(text.get()), size);
  const PickleValue& root = pickle.root();
  const PickleValue* dict = nullptr;
  for (const PickleValue* candidate : {root.find("state_dict"), root.find("model"), &root})
    if (!dict && holds_tensors(candidate)) dict = candidate;
  if (!dict) throw std::runtime_error("it holds no state dict");
  NamedTensors tensors;
  for (size_t i = 0; i + 1 < dict->items.size(); i += 2) {
    const PickleValue &key = *dict->items[i], *const call = tensor_call(dict->items[i + 1]);
    if (key.kind == PickleValue::Kind::text && call)
      tensors.emplace_back(without_wrappers(key.text), make_tensor(file, *call, key.text));
  }
  return tensors;
}

}  // namespace

NamedTensors read_torch_file(const std::vector<char>& bytes, const std::string& where) {
  try {
    return read(bytes);
  } catch (const std::exception& error) {
    const std::string text = error.what();
    throw std::runtime_error(
        where + " cannot be read as a file of torch.save: " + text.substr(0, text.find('\n')));
  }
}

}  // namespace shoal::train
