#include "train/weights/formats/state_dict.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/error.h"
#include "train/weights/name_families.h"

namespace shoal::train {
namespace {

constexpr size_t kMaxName = 300;  // bytes of a name in messages

// A state dict in a file. `name`: path of the keys that lead to the dict, such as "ema.module";
// empty: the top level.
struct Entry {
  std::string name;
  const PickleValue* dict = nullptr;
  bool is(const std::string& wanted) const {
    return name == wanted || name.starts_with(wanted + ".");
  }
};

// Collects the state dicts of a file.
class Search {
 public:
  explicit Search(TorchArchive& file) : file_(file) {}

  // Collects the state dicts in `value`, at most `depth` dicts deep.
  void collect(const PickleValue& value, const std::string& name, int depth) {
    if (is_state_dict(value)) return void(found_.push_back({name, &value}));
    if (depth == 0 || value.kind != PickleValue::Kind::dict) return;
    for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
      const PickleValue& key = *value.items[i];
      file_.spend(sizeof(Entry) + name.size() + key.text.size());
      if (key.kind != PickleValue::Kind::text) continue;
      collect(*value.items[i + 1], name.empty() ? key.text : name + "." + key.text, depth - 1);
    }
  }
  const std::vector<Entry>& found() const { return found_; }

 private:
  // A dict is a state dict if more than half of its values are tensors. A few tensors are not
  // enough, because a checkpoint may have some beside its state dicts. Caches results in known_,
  // because a file may refer to one dict many times.
  bool is_state_dict(const PickleValue& value) {
    if (value.kind != PickleValue::Kind::dict) return false;
    const auto [known, fresh] = known_.emplace(&value, false);
    if (!fresh) return known->second;
    size_t tensors = 0;
    for (size_t i = 1; i < value.items.size(); i += 2)
      tensors += tensor_call(value.items[i]) ? 1 : 0;
    return known->second = 2 * tensors > value.items.size() / 2;
  }

  TorchArchive& file_;
  std::vector<Entry> found_;
  std::map<const PickleValue*, bool> known_;
};

constexpr const char *kAveraged[] = {"model_ema", "state_dict_ema", "ema"},
                     *kUsual[] = {"state_dict", "model"};

// If the file has a pickled object where a state dict is expected, returns the object's class;
// otherwise "".
std::string pickled_class(const PickleValue& root) {
  std::vector<const PickleValue*> candidates = {&root};
  for (const char* name : kUsual) candidates.push_back(root.find(name));
  for (const char* name : kAveraged) candidates.push_back(root.find(name));
  for (const PickleValue* value : candidates) {
    if (!value || value->kind != PickleValue::Kind::call || tensor_call(value)) continue;
    std::string name = value->text.substr(0, kMaxName);
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
  for (const Entry& entry : found) {
    if (list.size() > kMaxName) {
      list += ", …";
      break;
    }
    list += (list.empty() ? "" : ", ") + entry.name.substr(0, kMaxName);
  }
  throw UserError((wanted.empty() ? "contains several state dicts: " + list
                                  : "has no entry '" + wanted + "'; it has " + list) +
                  "; choose one with --weights-entry NAME");
}

// Returns the first entry at or below the key `wanted`. If `wanted` is empty, tries the keys in
// kAveraged, then those in kUsual; if none has an entry, returns the file's only entry. Throws
// UserError if there is no such entry or the choice is ambiguous.
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

}  // namespace

StoredStateDict find_state_dict(TorchArchive& file, const std::string& wanted) {
  Search search(file);
  search.collect(file.root(), "", 2);
  const Entry& entry = choose(file.root(), search.found(), wanted);
  StoredStateDict result{entry.name, false, "", {}};
  for (const char* name : kAveraged) result.averaged |= entry.is(name);
  const PickleValue* const arch = file.root().find("arch");
  if (arch && arch->kind == PickleValue::Kind::text) result.arch = arch->text.substr(0, kMaxName);
  for (size_t i = 0; i + 1 < entry.dict->items.size(); i += 2) {
    const PickleValue& key = *entry.dict->items[i];
    const PickleValue* const call = tensor_call(entry.dict->items[i + 1]);
    if (key.kind != PickleValue::Kind::text || !call) continue;
    file.spend(key.text.size());
    result.tensors.emplace_back(key.text, file.tensor(*call, key.text));
  }
  remove_wrappers(result.tensors);
  return result;
}

}  // namespace shoal::train
