#include "train/weights/torch_tensor.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <caffe2/serialize/inline_container.h>
#include <caffe2/serialize/read_adapter_interface.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

namespace shoal::train {
namespace {

using caffe2::serialize::PyTorchStreamReader;

// Reads from memory and checks offsets, which LibTorch's own memory reader does not.
class Bytes : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit Bytes(const std::vector<char>& bytes) : bytes_(bytes) {}
  size_t size() const override { return bytes_.size(); }
  // Returns fewer than `wanted` bytes at the end of the file.
  size_t read(uint64_t from, void* to, size_t wanted, const char* /*what*/) const override {
    if (from >= bytes_.size()) return 0;
    const size_t count = std::min<size_t>(wanted, bytes_.size() - from);
    std::memcpy(to, bytes_.data() + from, count);
    return count;
  }

 private:
  const std::vector<char>& bytes_;
};

}  // namespace

void throw_bad_storage(const std::string& name) {
  throw std::runtime_error(name + " does not fit its storage");
}

at::ScalarType storage_type(const std::string& name) {
  static const std::map<std::string, at::ScalarType> types = {
      {"torch DoubleStorage", at::kDouble}, {"torch FloatStorage", at::kFloat},
      {"torch HalfStorage", at::kHalf},     {"torch BFloat16Storage", at::kBFloat16},
      {"torch LongStorage", at::kLong},     {"torch IntStorage", at::kInt},
      {"torch ShortStorage", at::kShort},   {"torch CharStorage", at::kChar},
      {"torch ByteStorage", at::kByte},     {"torch BoolStorage", at::kBool}};
  const auto found = types.find(name);
  if (found == types.end()) throw std::runtime_error("it contains tensors of " + name);
  return found->second;
}

const PickleValue* tensor_call(const PickleValue* value) {
  // A parameter wraps a tensor.
  while (value->kind == PickleValue::Kind::call &&
         value->text.starts_with("torch._utils _rebuild_parameter") && !value->items.empty())
    value = value->items[0];
  const bool tensor =
      value->kind == PickleValue::Kind::call && value->text == "torch._utils _rebuild_tensor_v2";
  return tensor ? value : nullptr;
}

// A storage is the tuple ("storage", type, key, device, number of elements). The arguments of the
// call are storage, offset, sizes, strides, …; offset and strides count elements.
at::Tensor make_tensor(const Storages& storages, const PickleValue& call, const std::string& name) {
  const auto& arguments = call.items;
  if (arguments.size() < 4 || arguments[0]->kind != PickleValue::Kind::persistent ||
      arguments[0]->items.size() < 5 || arguments[2]->items.size() != arguments[3]->items.size())
    throw_bad_storage(name);
  const at::ScalarType type = storage_type(arguments[0]->items[1]->text);
  const Storage storage = storages(arguments[0]->items[2]->text);
  const auto width = static_cast<int64_t>(at::elementSize(type));
  const int64_t elements = static_cast<int64_t>(storage.bytes) / width;
  const int64_t offset = arguments[1]->integer;
  std::vector<int64_t> sizes, strides;
  int64_t count = 1, last = offset;  // offset of the last element
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
  if (empty) return at::empty(sizes, at::TensorOptions().dtype(type));  // validates the sizes
  if (!good || last >= elements) throw_bad_storage(name);
  char* const first = const_cast<char*>(storage.data) + offset * width;  // not modified
  return at::from_blob(first, sizes, strides, at::TensorOptions().dtype(type))
      .clone(at::MemoryFormat::Contiguous);
}

struct TorchArchive::Impl {
  explicit Impl(const std::vector<char>& bytes)
      : file(std::make_shared<Bytes>(bytes)), record(file.getRecord("data.pkl")) {}

  PyTorchStreamReader file;
  std::tuple<at::DataPtr, size_t> record;
  Pickle pickle{static_cast<const char*>(std::get<0>(record).get()), std::get<1>(record)};
  Storages storages = [this](const std::string& key) {
    auto [data, length] = file.getRecord("data/" + key);
    const auto* const begin = static_cast<const char*>(data.get());
    return Storage{begin, length, std::move(data)};
  };
};

TorchArchive::TorchArchive(const std::vector<char>& bytes) : impl_(std::make_unique<Impl>(bytes)) {}
TorchArchive::~TorchArchive() = default;

const PickleValue& TorchArchive::root() const {
  return impl_->pickle.root();
}
const Storages& TorchArchive::storages() const {
  return impl_->storages;
}

}  // namespace shoal::train
