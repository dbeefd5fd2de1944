#include "train/weights/formats/torch_archive.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "train/weights/formats/forbidden_functions.h"
#include "train/weights/formats/zip_file.h"

namespace shoal::train {
namespace {

constexpr size_t kMaxKey = 200;        // bytes of a storage's key
constexpr size_t kTensorMemory = 512;  // bytes per tensor in addition to its elements
constexpr size_t kSpare = size_t{64} << 20;

[[noreturn]] void refuse(const std::string& name) {
  throw std::runtime_error("the values of " + name.substr(0, kMaxKey) +
                           " are missing or cut short; copy the file again");
}

Element storage_element(const std::string& name) {
  static const std::map<std::string, Element> types = {
      {"torch DoubleStorage", Element::f64}, {"torch FloatStorage", Element::f32},
      {"torch HalfStorage", Element::f16},   {"torch BFloat16Storage", Element::bf16},
      {"torch LongStorage", Element::i64},   {"torch IntStorage", Element::i32},
      {"torch ShortStorage", Element::i16},  {"torch CharStorage", Element::i8},
      {"torch ByteStorage", Element::u8},    {"torch BoolStorage", Element::boolean}};
  const auto found = types.find(name);
  if (found == types.end())
    throw std::runtime_error("it contains tensors of the unsupported type " +
                             name.substr(0, kMaxKey));
  return found->second;
}

// Element type and key from a storage's persistent id: ("storage", type, key, device, elements).
struct StorageId {
  Element element;
  const std::string& key;
};
StorageId storage_id(const PickleValue& value, const std::string& name) {
  if (value.kind != PickleValue::Kind::persistent || value.items.size() < 5) refuse(name);
  const std::string& key = value.items[2]->text;
  if (key.size() > kMaxKey) refuse(name);
  return {storage_element(value.items[1]->text), key};
}

std::unique_ptr<Pickle> read_pickle(std::span<const char> bytes) {
  auto pickle = std::make_unique<Pickle>(bytes.data(), bytes.size());
  refuse_forbidden_functions(*pickle);
  return pickle;
}

}  // namespace

bool is_legacy_torch_file(std::span<const char> bytes) {
  // The file begins with a pickled number. From protocol 4 on, a frame opcode (0x95) and an 8-byte
  // length precede the number.
  constexpr std::string_view kMagic("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 12);
  std::string_view text(bytes.data(), bytes.size());
  if (text.size() < 2 || text[0] != '\x80' || text[1] < 2 || text[1] > 5) return false;
  text.remove_prefix(2);
  if (text.starts_with('\x95')) text.remove_prefix(std::min<size_t>(9, text.size()));
  return text.starts_with(kMagic) && text.size() > kMagic.size();
}

const PickleValue* tensor_call(const PickleValue* value) {
  const auto calls = [](const PickleValue& it, std::string_view callee) {
    return it.kind == PickleValue::Kind::call && it.text.starts_with(callee);
  };
  // A parameter wraps a tensor.
  if (calls(*value, "torch._utils _rebuild_parameter") && !value->items.empty())
    value = value->items[0];
  // PyTorch up to 0.3 calls _rebuild_tensor, which has only the first four arguments.
  const bool tensor = calls(*value, "torch._utils _rebuild_tensor_v2") ||
                      (calls(*value, "torch._utils _rebuild_tensor") &&
                       value->text == "torch._utils _rebuild_tensor");
  return tensor ? value : nullptr;
}

TorchArchive::TorchArchive(std::span<const char> bytes)
    : budget_("the sum of its entries", 4 * bytes.size() + kSpare) {
  if (is_legacy_torch_file(bytes))
    open_legacy(bytes);
  else
    open_zip(bytes);
}

void TorchArchive::open_zip(std::span<const char> bytes) {
  const auto zip = std::make_shared<const ZipFile>(bytes);
  const std::string first(zip->first_name());
  const std::string folder = first.substr(0, first.find('/')) + "/";
  const auto pickle = zip->find(folder + "data.pkl");
  if (!pickle) {
    if (const std::string_view image = zip->image_name(); !image.empty())
      throw UserError("is an archive of images, such as " + std::string(image) + ", not weights");
    throw std::runtime_error("it has no data.pkl");
  }
  object_ = read_pickle(*pickle);
  storages_ = [zip, folder](const std::string& key) {
    const auto found = zip->find(folder + "data/" + key);
    if (!found) refuse(key);
    return *found;
  };
}

// Layout: five pickles (magic number, version, system information, the object, the storage keys),
// then for each key the number of elements (64 bits) and the elements.
void TorchArchive::open_legacy(std::span<const char> bytes) {
  size_t at = 0;
  const auto next = [&] {
    auto pickle = read_pickle(bytes.subspan(at));
    at += pickle->bytes();
    return pickle;
  };
  for (int i = 0; i < 3; ++i) next();
  object_ = next();
  const auto keys = next();
  std::map<std::string, size_t> widths;  // bytes per element
  for (const PickleValue& value : object_->values()) {
    if (value.kind != PickleValue::Kind::persistent || value.items.size() < 5) continue;
    const StorageId id = storage_id(value, "a tensor");
    widths[id.key] = bytes_of(id.element);
  }
  std::map<std::string, std::span<const char>> places;
  for (const PickleValue* key : keys->root().items) {
    uint64_t elements = 0;
    const auto width = widths.find(key->text);
    if (width == widths.end() || bytes.size() - at < sizeof elements) refuse(key->text);
    std::memcpy(&elements, bytes.data() + at, sizeof elements);
    at += sizeof elements;
    if (elements > (bytes.size() - at) / width->second) refuse(key->text);
    places[key->text] = bytes.subspan(at, elements * width->second);
    at += elements * width->second;
  }
  storages_ = [places = std::move(places)](const std::string& key) {
    const auto place = places.find(key);
    if (place == places.end()) refuse(key);
    return place->second;
  };
}

// The call's arguments are storage, offset, sizes, strides, …; offset and strides in elements.
StoredTensor TorchArchive::tensor(const PickleValue& call, const std::string& name) {
  const auto& arguments = call.items;
  if (arguments.size() < 4 || arguments[2]->items.size() != arguments[3]->items.size())
    refuse(name);
  const StorageId id = storage_id(*arguments[0], name);
  const std::span<const char> storage = storages_(id.key);
  const uint64_t elements = storage.size() / bytes_of(id.element);
  const int64_t offset = arguments[1]->integer;
  if (offset < 0 || static_cast<uint64_t>(offset) > elements) refuse(name);
  StoredTensor tensor{id.element, {}, {}, nullptr};
  spend(kTensorMemory + arguments[2]->items.size() * 2 * sizeof(int64_t));
  for (size_t d = 0; d < arguments[2]->items.size(); ++d) {
    tensor.sizes.push_back(arguments[2]->items[d]->integer);
    tensor.strides.push_back(arguments[3]->items[d]->integer);
  }
  try {
    spanned_elements(tensor, elements - static_cast<uint64_t>(offset));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(name.substr(0, kMaxKey) + ": " + error.what());
  }
  tensor.first = storage.data() + static_cast<uint64_t>(offset) * bytes_of(id.element);
  spend(tensor.bytes());
  return tensor;
}

}  // namespace shoal::train
