#include "train/weights/formats/file_contents.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "train/weights/formats/parse_file.h"
#include "train/weights/formats/safetensors_header.h"
#include "train/weights/formats/state_dict.h"
#include "train/weights/formats/torch_archive.h"
#include "train/weights/name_families.h"
#include "train/weights/tensor_fit.h"

namespace shoal::train {
namespace {

using Kind = PickleValue::Kind;

constexpr int kMaxLevels = 4;       // levels of nested dicts that are read in an entry
constexpr size_t kMaxValue = 1000;  // bytes per value; longer texts are cut
constexpr size_t kMaxValues = 1000;

// Returns a number or text as text; empty for other values.
std::string shown(const PickleValue& value) {
  if (value.kind == Kind::integer) return std::to_string(value.integer);
  if (value.kind == Kind::real) return number(value.real);
  if (value.kind == Kind::text) return value.text.substr(0, kMaxValue);
  return "";
}

// Describes a tensor: its value if it is a single float32, float64 or int64, otherwise its shape
// and dtype.
std::string shown(const StoredTensor& tensor) {
  const auto element = [&tensor](auto value) {
    std::memcpy(&value, tensor.first, sizeof value);
    return value;
  };
  if (tensor.bytes() == bytes_of(tensor.element)) {
    if (tensor.element == Element::f32) return number(double{element(0.F)});
    if (tensor.element == Element::f64) return number(element(0.0));
    if (tensor.element == Element::i64) return std::to_string(element(int64_t{0}));
  }
  return shape_text(tensor.sizes) + " " + name_of(tensor.element);
}

std::string key_text(const PickleValue& key) {
  return key.kind == Kind::integer ? std::to_string(key.integer) : key.text;
}

// Fills the contents from a file of torch.save.
class TorchReader {
 public:
  TorchReader(TorchArchive& file, FileContents& contents) : file_(file), contents_(contents) {}

  void read() {
    const PickleValue& root = file_.root();
    contents_.is_ours = root.find("integers") && root.find("settings") && root.find("classes");
    for_each_item(root, [&](const std::string& key, const PickleValue& value) {
      if (!contents_.is_ours || !read_own(key, value)) read_entry(key, value);
    });
    const bool has_entries = !contents_.entries.empty();
    if (!has_entries) {
      contents_.entries.push_back(single_);
    } else {
      for (const auto& [name, tensor] : single_.tensors) add(contents_.values, name, shown(tensor));
    }
    const char* const own = root.find("ema") ? "ema" : "model";
    try {
      StoredStateDict used = find_state_dict(file_, contents_.is_ours ? own : "");
      contents_.used = used.entry;
      contents_.weights = std::move(used.tensors);
    } catch (const UserError&) {  // without a usable state dict, still lists the entries
      if (!has_entries) throw;
    }
  }

 private:
  template <class Use>
  void for_each_item(const PickleValue& dict, Use use) {
    for (size_t i = 0; dict.kind == Kind::dict && i + 1 < dict.items.size(); i += 2) {
      const std::string key = key_text(*dict.items[i]);
      file_.spend(sizeof(std::string) + key.size());
      use(key, *dict.items[i + 1]);
    }
  }

  // Reads an entry that only checkpoints of shoal have. Returns false for others.
  bool read_own(const std::string& key, const PickleValue& value) {
    if (key == "integers" || key == "numbers" || key == "text") {
      for_each_item(value, [&](const std::string& name, const PickleValue& each) {
        add(contents_.values, name, shown(each));
      });
      return true;
    }
    if (key == "settings") {
      for_each_item(value, [&](const std::string& name, const PickleValue& each) {
        add(contents_.settings, name, shown(each));
      });
      return true;
    }
    // arch, epoch and step are copies of values in "text" and "integers".
    if (key != "classes") return key == "arch" || key == "epoch" || key == "step";
    for (const PickleValue* name : value.items) {
      file_.spend(sizeof(std::string) + name->text.size());
      contents_.classes.push_back(name->text);
    }
    return true;
  }

  void read_entry(const std::string& key, const PickleValue& value) {
    if (const PickleValue* const call = tensor_call(&value)) {
      single_.tensors.emplace_back(key, file_.tensor(*call, key));
    } else if (value.kind == Kind::dict) {
      FileContents::Entry entry{key, {}};
      read_tensors(value, "", kMaxLevels, entry.tensors);
      if (!entry.tensors.empty()) contents_.entries.push_back(std::move(entry));
    } else if (value.kind == Kind::call) {
      std::string name = value.text.substr(0, kMaxValue);
      std::replace(name.begin(), name.end(), ' ', '.');
      add(contents_.values, key, name + " object");
    } else {
      add(contents_.values, key, shown(value));
    }
  }

  void read_tensors(const PickleValue& dict, const std::string& prefix, int levels,
                    StoredTensors& tensors) {
    for_each_item(dict, [&](const std::string& key, const PickleValue& value) {
      file_.spend(prefix.size());
      if (const PickleValue* const call = tensor_call(&value))
        tensors.emplace_back(prefix + key, file_.tensor(*call, prefix + key));
      else if (levels > 1)
        read_tensors(value, prefix + key + ".", levels - 1, tensors);
    });
  }

  void add(FileContents::Texts& to, const std::string& name, std::string text) {
    file_.spend(name.size() + text.size());
    if (!text.empty() && to.size() < kMaxValues) to.emplace_back(name, std::move(text));
  }

  TorchArchive& file_;
  FileContents& contents_;
  FileContents::Entry single_ = {};  // tensors at the top level
};

FileContents read_safetensors_contents(std::span<const char> bytes) {
  SafetensorsHeader header = read_safetensors_header(bytes);
  FileContents contents;
  const auto program = header.metadata.find("program");
  contents.is_ours = program != header.metadata.end() && program->second == "shoal";
  contents.format = contents.is_ours ? "exported model of shoal, safetensors" : "safetensors";
  contents.entries.push_back({"", header.tensors});
  contents.weights = std::move(header.tensors);
  remove_wrappers(contents.weights);
  for (auto& [name, value] : header.metadata) {
    if (name != "class_names") {
      contents.values.emplace_back(name, value.substr(0, kMaxValue));
      continue;
    }
    for (const auto& each : parse_json(value))
      if (each.is_string()) contents.classes.push_back(each.get<std::string>());
  }
  return contents;
}

FileContents read_torch_contents(std::span<const char> bytes) {
  FileContents contents;
  TorchArchive file(bytes);
  TorchReader(file, contents).read();
  contents.format = is_legacy_torch_file(bytes) ? "torch.save, before PyTorch 1.6"
                    : contents.is_ours          ? "checkpoint of shoal, zip of torch.save"
                                                : "torch.save, zip";
  return contents;
}

}  // namespace

std::string FileContents::value(const std::string& name) const {
  for (const auto& [key, text] : values)
    if (key == name) return text;
  return "";
}

FileContents read_contents(std::span<const char> bytes, const std::string& file) {
  if (is_safetensors(bytes))
    return parse_file(file, "a whole safetensors file",
                      [&] { return read_safetensors_contents(bytes); });
  return parse_file(file, kTorchSaveFile, [&] { return read_torch_contents(bytes); });
}

const char* name_of(Element element) {
  switch (element) {
    case Element::f64:
      return "float64";
    case Element::f32:
      return "float32";
    case Element::f16:
      return "float16";
    case Element::bf16:
      return "bfloat16";
    case Element::i64:
      return "int64";
    case Element::i32:
      return "int32";
    case Element::i16:
      return "int16";
    case Element::i8:
      return "int8";
    case Element::u8:
      return "uint8";
    default:
      return "bool";
  }
}

}  // namespace shoal::train
