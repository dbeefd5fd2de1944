#include "train/weights/torch_file.h"

#include <ATen/core/Tensor.h>

#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>

#include "train/run/job.h"
#include "train/weights/parse_file.h"
#include "train/weights/torch_tensor.h"

namespace shoal::train {
namespace {

// Returns whether most values of a dict are tensors. A checkpoint that contains state dicts may
// also have a few tensors at the top level, but is not a state dict itself.
bool is_state_dict(const PickleValue& value) {
  if (value.kind != PickleValue::Kind::dict) return false;
  size_t tensors = 0;
  for (size_t i = 1; i < value.items.size(); i += 2) tensors += tensor_call(value.items[i]) ? 1 : 0;
  return 2 * tensors > value.items.size() / 2;
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

// A state dict and the path of keys that leads to it, such as "ema.module". An empty path means the
// top level of the file.
struct Entry {
  std::string name;
  const PickleValue* dict = nullptr;
  bool is(const std::string& wanted) const {
    return name == wanted || name.starts_with(wanted + ".");
  }
};

// Searches `value` and the dicts nested in it, up to `depth` levels deep, for state dicts.
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

// Returns the class name of a pickled object that was found instead of a state dict; empty if there
// is none.
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
                    "': it is a single unnamed state dict; omit --weights-entry");
  std::string list;
  for (const Entry& entry : found) list += (list.empty() ? "" : ", ") + entry.name;
  throw UserError((wanted.empty() ? "contains several state dicts: " + list
                                  : "has no entry '" + wanted + "'; it has " + list) +
                  "; choose one with --weights-entry NAME");
}

// Selects the entry `wanted`. If `wanted` is empty, selects averaged weights, else an entry with
// one of the usual names, else the only entry.
const Entry& choose(const PickleValue& root, const std::vector<Entry>& found,
                    const std::string& wanted) {
  if (found.empty()) {
    const std::string name = pickled_class(root);
    if (name.empty()) throw UserError("contains no state dict");
    throw UserError("contains a whole pickled model (" + name +
                    "), which only Python can open; save only its weights there with "
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
  const TorchArchive file(bytes);
  return read(file.root(), file.storages(), wanted);
}

// Reads a file of PyTorch before 1.6. It contains five pickles: a magic number, the version, system
// information, the object, and the list of storage keys. For each key, the number of elements (64
// bits) and the elements follow.
StateDict read_legacy(const std::vector<char>& bytes, const std::string& wanted) {
  size_t at = 0;
  const auto next = [&] {
    auto pickle = std::make_unique<Pickle>(bytes.data() + at, bytes.size() - at);
    at += pickle->bytes();
    return pickle;
  };
  for (int i = 0; i < 3; ++i) next();
  const auto object = next(), keys = next();
  std::map<std::string, size_t> widths;  // bytes per element
  for (const PickleValue& value : object->values()) {
    if (value.kind != PickleValue::Kind::persistent || value.items.size() < 5) continue;
    widths[value.items[2]->text] = at::elementSize(storage_type(value.items[1]->text));
  }
  std::map<std::string, std::pair<const char*, size_t>> places;
  for (const PickleValue* key : keys->root().items) {
    uint64_t elements = 0;
    if (bytes.size() - at < sizeof elements) throw_bad_storage(key->text);
    std::memcpy(&elements, bytes.data() + at, sizeof elements);
    at += sizeof elements;
    const auto width = widths.find(key->text);
    if (width == widths.end() || elements > (bytes.size() - at) / width->second)
      throw_bad_storage(key->text);
    places[key->text] = {bytes.data() + at, elements * width->second};
    at += elements * width->second;
  }
  return read(
      object->root(),
      [&places](const std::string& key) {
        const auto place = places.find(key);
        if (place == places.end()) throw_bad_storage(key);
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
