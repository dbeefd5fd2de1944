#include "train/checkpoint/torch_file.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <caffe2/serialize/inline_container.h>
#include <caffe2/serialize/read_adapter_interface.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

#include "train/checkpoint/parse_file.h"
#include "train/checkpoint/pickle.h"
#include "train/run/job.h"

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

// Most values are tensors: a checkpoint may hold a tensor or two beside its state dicts.
bool is_state_dict(const PickleValue& value) {
  if (value.kind != PickleValue::Kind::dict) return false;
  size_t tensors = 0;
  for (size_t i = 1; i < value.items.size(); i += 2) tensors += tensor_call(value.items[i]) ? 1 : 0;
  return 2 * tensors > value.items.size() / 2;
}

// The bytes behind one key. `owner` keeps them alive.
struct Storage {
  const char* data = nullptr;
  size_t bytes = 0;
  at::DataPtr owner;
};
using Storages = std::function<Storage(const std::string& key)>;

// Its arguments: storage, offset, sizes, strides, …, all but the storage in elements; a storage is
// ("storage", type, key, device, elements).
at::Tensor make_tensor(const Storages& storages, const PickleValue& call, const std::string& name) {
  const auto& arguments = call.items;
  if (arguments.size() < 4 || arguments[0]->kind != PickleValue::Kind::persistent ||
      arguments[0]->items.size() < 5 || arguments[2]->items.size() != arguments[3]->items.size())
    damaged(name);
  const at::ScalarType type = storage_type(arguments[0]->items[1]->text);
  const Storage storage = storages(arguments[0]->items[2]->text);
  const auto width = static_cast<int64_t>(at::elementSize(type));
  const int64_t elements = static_cast<int64_t>(storage.bytes) / width;
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
  char* const first = const_cast<char*>(storage.data) + offset * width;  // only read
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

// A state dict and the keys that lead to it: "ema.module". Empty: the top of the file.
struct Entry {
  std::string name;
  const PickleValue* dict = nullptr;
  bool is(const std::string& wanted) const {
    return name == wanted || name.starts_with(wanted + ".");
  }
};

// State dicts in `value`, under its keys, and `depth` - 1 levels below those.
void collect(const PickleValue& value, const std::string& name, int depth,
             std::vector<Entry>& found) {
  if (is_state_dict(value)) return void(found.push_back({name, &value}));
  if (depth == 0 || value.kind != PickleValue::Kind::dict) return;
  for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
    const PickleValue& key = *value.items[i];
    if (key.kind != PickleValue::Kind::text) continue;
    collect(*value.items[i + 1], name.empty() ? key.text : name + "." + key.text, depth - 1, found);
  }
}

constexpr const char *kAveraged[] = {"model_ema", "state_dict_ema", "ema"},
                     *kUsual[] = {"state_dict", "model"};

// The class of an object that stands where a state dict is usual; empty: none does.
std::string pickled_class(const PickleValue& root) {
  std::vector<const PickleValue*> candidates = {&root};
  for (const char* name : kUsual) candidates.push_back(root.find(name));
  for (const char* name : kAveraged) candidates.push_back(root.find(name));
  for (const PickleValue* value : candidates) {
    if (!value || value->kind != PickleValue::Kind::call || tensor_call(value)) continue;
    std::string name = value->text;
    std::replace(name.begin(), name.end(), ' ', '.');
    return name;
  }
  return "";
}

[[noreturn]] void refuse_entry(const std::string& wanted, const std::vector<Entry>& found) {
  if (found.size() == 1 && found[0].name.empty())
    throw UserError("has no entry '" + wanted +
                    "': it is one state dict without a name; leave --weights-entry out");
  std::string list;
  for (const Entry& entry : found) list += (list.empty() ? "" : ", ") + entry.name;
  throw UserError((wanted.empty() ? "holds several state dicts: " + list
                                  : "has no entry '" + wanted + "', but " + list) +
                  "; choose one with --weights-entry NAME");
}

// The entry called `wanted`; without a name the averaged weights, else the usual ones, else the only
// ones there are.
const Entry& choose(const PickleValue& root, const std::vector<Entry>& found,
                    const std::string& wanted) {
  if (found.empty()) {
    const std::string name = pickled_class(root);
    if (name.empty()) throw UserError("holds no state dict");
    throw UserError("holds a whole pickled model (" + name +
                    "), which only Python can open; there, save its weights alone with "
                    "torch.save(model.state_dict(), \"weights.pth\")");
  }
  std::vector<std::string> names(std::begin(kAveraged), std::end(kAveraged));
  names.insert(names.end(), std::begin(kUsual), std::end(kUsual));
  if (!wanted.empty()) names = {wanted};
  for (const std::string& name : names)
    for (const Entry& entry : found)
      if (entry.is(name)) return entry;
  if (!wanted.empty() || found.size() > 1) refuse_entry(wanted, found);
  return found[0];
}

StateDict read(const PickleValue& root, const Storages& storages, const std::string& wanted) {
  std::vector<Entry> found;
  collect(root, "", 2, found);
  const Entry& entry = choose(root, found, wanted);
  StateDict result{entry.name, false, {}};
  for (const char* name : kAveraged) result.averaged |= entry.is(name);
  for (size_t i = 0; i + 1 < entry.dict->items.size(); i += 2) {
    const PickleValue& key = *entry.dict->items[i];
    const PickleValue* const call = tensor_call(entry.dict->items[i + 1]);
    if (key.kind == PickleValue::Kind::text && call)
      result.tensors.emplace_back(without_wrappers(key.text),
                                  make_tensor(storages, *call, key.text));
  }
  return result;
}

StateDict read_zip(const std::vector<char>& bytes, const std::string& wanted) {
  PyTorchStreamReader file(std::make_shared<Bytes>(bytes));
  const auto [text, size] = file.getRecord("data.pkl");
  const Pickle pickle(static_cast<const char*>(text.get()), size);
  return read(
      pickle.root(),
      [&file](const std::string& key) {
        auto [data, length] = file.getRecord("data/" + key);
        const auto* const begin = static_cast<const char*>(data.get());
        return Storage{begin, length, std::move(data)};
      },
      wanted);
}

// Pickles of a magic number, the version, the system, the object and the storages' keys; then, for
// each key, the number of elements (64 bits) and the elements.
StateDict read_legacy(const std::vector<char>& bytes, const std::string& wanted) {
  size_t at = 0;
  const auto next = [&] {
    auto pickle = std::make_unique<Pickle>(bytes.data() + at, bytes.size() - at);
    at += pickle->bytes();
    return pickle;
  };
  for (int i = 0; i < 3; ++i) next();
  const auto object = next(), keys = next();
  std::map<std::string, size_t> widths;  // of an element
  for (const PickleValue& value : object->values()) {
    if (value.kind != PickleValue::Kind::persistent || value.items.size() < 5) continue;
    widths[value.items[2]->text] = at::elementSize(storage_type(value.items[1]->text));
  }
  std::map<std::string, std::pair<const char*, size_t>> places;
  for (const PickleValue* key : keys->root().items) {
    uint64_t elements = 0;
    if (bytes.size() - at < sizeof elements) damaged(key->text);
    std::memcpy(&elements, bytes.data() + at, sizeof elements);
    at += sizeof elements;
    const auto width = widths.find(key->text);
    if (width == widths.end() || elements > (bytes.size() - at) / width->second) damaged(key->text);
    places[key->text] = {bytes.data() + at, elements * width->second};
    at += elements * width->second;
  }
  return read(
      object->root(),
      [&places](const std::string& key) {
        const auto place = places.find(key);
        if (place == places.end()) damaged(key);
        return Storage{place->second.first, place->second.second, {}};
      },
      wanted);
}

}  // namespace

bool is_legacy_torch_file(const std::vector<char>& bytes) {
  constexpr char kMagic[] = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
  return bytes.size() > sizeof kMagic && std::memcmp(bytes.data(), kMagic, sizeof kMagic - 1) == 0;
}

StateDict read_torch_file(const std::vector<char>& bytes, const std::string& where,
                          const std::string& entry) {
  return parse_file(where, "a whole file of torch.save", [&] {
    return is_legacy_torch_file(bytes) ? read_legacy(bytes, entry) : read_zip(bytes, entry);
  });
}

}  // namespace shoal::train
