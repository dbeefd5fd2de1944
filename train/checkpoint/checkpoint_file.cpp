#include "train/checkpoint/checkpoint_file.h"

#include <ATen/core/ivalue.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/export.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include <exception>
#include <stdexcept>

#include "train/checkpoint/parse_file.h"

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
  c10::impl::GenericList classes(c10::AnyType::get());  // a typed list is refused by weights_only
  for (const auto& name : data.classes) classes.push_back(name);
  dict.insert("classes", classes);
  // What tools look for at the top.
  if (data.text.count("arch")) dict.insert("arch", data.text.at("arch"));
  for (const char* name : {"epoch", "step"}) {
    if (data.integers.count(name)) dict.insert(name, data.integers.at(name));
  }
  return dict;
}

NamedTensors read_tensors(const c10::IValue& value) {
  NamedTensors tensors;
  for (const auto& item : value.toGenericDict())
    tensors.emplace_back(item.key().toStringRef(), item.value().toTensor());
  return tensors;
}

template <class T>
const T& find(const std::map<std::string, T>& map, const std::string& name) {
  const auto it = map.find(name);
  if (it == map.end()) throw std::runtime_error("the checkpoint has no entry '" + name + "'");
  return it->second;
}

CheckpointData from_dict(const Dict& dict) {
  CheckpointData data;
  data.model = read_tensors(dict.at("model"));
  if (dict.contains("ema")) data.ema = read_tensors(dict.at("ema"));
  for (const auto& item : dict.at("optimizer").toGenericDict()) {
    data.optimizer.emplace_back(item.key().toStringRef(), read_tensors(item.value()));
  }
  for (const auto& item : dict.at("integers").toGenericDict())
    data.integers[item.key().toStringRef()] = item.value().toInt();
  for (const auto& item : dict.at("numbers").toGenericDict())
    data.numbers[item.key().toStringRef()] = item.value().toDouble();
  for (const auto& item : dict.at("text").toGenericDict())
    data.text[item.key().toStringRef()] = item.value().toStringRef();
  for (const auto& item : dict.at("settings").toGenericDict()) {
    data.settings.emplace_back(item.key().toStringRef(), item.value().toStringRef());
  }
  const auto classes = dict.at("classes").toList();
  for (size_t i = 0; i < classes.size(); ++i) data.classes.push_back(classes.get(i).toStringRef());
  return data;
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
  std::vector<char> pickle;
  torch::jit::Pickler pickler(
      [&](const char* bytes, size_t size) { pickle.insert(pickle.end(), bytes, bytes + size); },
      nullptr, nullptr, nullptr, nullptr, /*tag_aggregates=*/false);
  pickler.protocol();
  pickler.pushIValue(to_dict(data));
  pickler.stop();
  // The writer's destructor throws when a write has failed, which would end the program: so a full
  // disk is kept until the writer is done.
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

CheckpointData read_checkpoint(const std::vector<char>& bytes, const std::string& where) {
  return parse_file(where, "a checkpoint of shoal",
                    [&] { return from_dict(torch::jit::pickle_load(bytes).toGenericDict()); });
}

}  // namespace shoal::train
