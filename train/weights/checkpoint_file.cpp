#include "train/weights/checkpoint_file.h"

#include <ATen/core/ivalue.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/export.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include <exception>
#include <stdexcept>

#include "train/weights/formats/parse_file.h"
#include "train/weights/formats/torch_archive.h"
#include "train/weights/formats/torch_tensor.h"

namespace shoal::train {
namespace {

using Dict = c10::impl::GenericDict;

Dict new_dict() {
  return Dict(c10::StringType::get(), c10::AnyType::get());
}

Dict tensors_dict(const NamedTensors& tensors) {
  Dict dict = new_dict();
  for (const auto& [name, tensor] : tensors) dict.insert(name, tensor);
  return dict;
}

template <class Map>
Dict scalars_dict(const Map& map) {
  Dict dict = new_dict();
  for (const auto& [name, value] : map) dict.insert(name, value);
  return dict;
}

Dict to_dict(const CheckpointData& data) {
  Dict dict = new_dict();
  dict.insert("model", tensors_dict(data.model));
  if (!data.ema.empty()) dict.insert("ema", tensors_dict(data.ema));
  Dict optimizer = new_dict();
  for (const auto& [name, tensors] : data.optimizer) optimizer.insert(name, tensors_dict(tensors));
  dict.insert("optimizer", optimizer);
  dict.insert("integers", scalars_dict(data.integers));
  dict.insert("numbers", scalars_dict(data.numbers));
  dict.insert("text", scalars_dict(data.text));
  dict.insert("settings", scalars_dict(data.settings));
  c10::impl::GenericList classes(c10::AnyType::get());  // weights_only rejects typed lists
  for (const auto& name : data.classes) classes.push_back(name);
  dict.insert("classes", classes);
  // Other tools expect these entries at the top level.
  if (data.text.count("arch")) dict.insert("arch", data.text.at("arch"));
  for (const char* name : {"epoch", "step"}) {
    if (data.integers.count(name)) dict.insert(name, data.integers.at(name));
  }
  return dict;
}

using Kind = PickleValue::Kind;

const PickleValue& entry_of(const PickleValue& dict, const std::string& name, Kind kind) {
  const PickleValue* const value = dict.find(name);
  if (!value || value->kind != kind) throw std::runtime_error("it has no entry '" + name + "'");
  return *value;
}

// Calls use(key, value) for each item of a dict, in the order of the file. Charges copies of the
// key and of a text value to the file's memory budget. Throws std::runtime_error if a key is not
// text or a value is not of `kind`.
template <class Use>
void for_each_item(TorchArchive& file, const PickleValue& dict, Kind kind, Use use) {
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleValue &key = *dict.items[i], &value = *dict.items[i + 1];
    file.spend(2 * sizeof key.text + key.text.size() + value.text.size());
    if (key.kind != Kind::text || value.kind != kind)
      throw std::runtime_error("entry '" + key.text.substr(0, 200) + "' has an unexpected type");
    use(key.text, value);
  }
}

NamedTensors read_tensors(TorchArchive& file, const PickleValue& dict) {
  NamedTensors tensors;
  for_each_item(file, dict, Kind::call, [&](const std::string& name, const PickleValue& value) {
    const PickleValue* const call = tensor_call(&value);
    if (!call) throw std::runtime_error("entry '" + name.substr(0, 200) + "' is not a tensor");
    tensors.emplace_back(name, copied_tensor(file.tensor(*call, name)));
  });
  return tensors;
}

template <class T>
const T& find(const std::map<std::string, T>& map, const std::string& name) {
  const auto it = map.find(name);
  if (it == map.end()) throw std::runtime_error("the checkpoint has no entry '" + name + "'");
  return it->second;
}

CheckpointData read(TorchArchive file) {
  CheckpointData data;
  const PickleValue& root = file.root();
  const auto dict = [&](const char* name) -> const PickleValue& {
    return entry_of(root, name, Kind::dict);
  };
  // Reads the small entries first: files of other programs lack them and are rejected early.
  for_each_item(
      file, dict("integers"), Kind::integer,
      [&](const std::string& name, const auto& value) { data.integers[name] = value.integer; });
  for_each_item(file, dict("numbers"), Kind::real, [&](const std::string& name, const auto& value) {
    data.numbers[name] = value.real;
  });
  for_each_item(file, dict("text"), Kind::text,
                [&](const std::string& name, const auto& value) { data.text[name] = value.text; });
  for_each_item(file, dict("settings"), Kind::text,
                [&](const std::string& name, const auto& value) {
                  data.settings.emplace_back(name, value.text);
                });
  for (const PickleValue* name : entry_of(root, "classes", Kind::sequence).items) {
    file.spend(sizeof name->text + name->text.size());
    if (name->kind != Kind::text) throw std::runtime_error("a class name is not text");
    data.classes.push_back(name->text);
  }
  data.model = read_tensors(file, dict("model"));
  if (root.find("ema")) data.ema = read_tensors(file, dict("ema"));
  for_each_item(file, dict("optimizer"), Kind::dict,
                [&](const std::string& name, const auto& value) {
                  data.optimizer.emplace_back(name, read_tensors(file, value));
                });
  return data;
}

// Writes the dict in the format of torch.save.
void write_dict(const Dict& dict, const std::function<void(const void*, size_t)>& sink) {
  std::vector<char> pickle;
  torch::jit::Pickler pickler(
      [&](const char* bytes, size_t size) { pickle.insert(pickle.end(), bytes, bytes + size); },
      nullptr, nullptr, nullptr, nullptr, /*tag_aggregates=*/false);
  pickler.protocol();
  pickler.pushIValue(dict);
  pickler.stop();
  // If a write failed, the writer's destructor would throw and so end the program. Therefore keeps
  // the sink's exception and rethrows it after the writer has finished.
  std::exception_ptr failure;
  caffe2::serialize::PyTorchStreamWriter writer([&](const void* bytes, size_t size) {
    try {
      if (!failure) sink(bytes, size);
    } catch (...) {
      failure = std::current_exception();
    }
    return size;
  });
  torch::jit::writeArchiveAndTensors("data", pickle.data(), pickle.size(), pickler.tensorData(),
                                     writer);
  writer.writeEndOfFile();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

int64_t CheckpointData::integer(const std::string& name) const {
  return find(integers, name);
}
double CheckpointData::number(const std::string& name) const {
  return find(numbers, name);
}
const std::string& CheckpointData::string(const std::string& name) const {
  return find(text, name);
}

void write_checkpoint(const CheckpointData& data,
                      const std::function<void(const void*, size_t)>& sink) {
  write_dict(to_dict(data), sink);
}

void write_state_dict(const NamedTensors& tensors,
                      const std::function<void(const void*, size_t)>& sink) {
  write_dict(tensors_dict(tensors), sink);
}

CheckpointData read_checkpoint(const std::vector<char>& bytes, const std::string& where) {
  return parse_file(where, "a checkpoint of shoal", [&] { return read(TorchArchive(bytes)); });
}

}  // namespace shoal::train
