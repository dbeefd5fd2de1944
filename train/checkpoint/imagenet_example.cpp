#include "train/checkpoint/imagenet_example.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "base/error.h"
#include "base/format/counted.h"
#include "base/text.h"
#include "models/catalogue.h"
#include "train/checkpoint/changed_settings.h"
#include "train/weights/adapt_weights.h"
#include "train/weights/formats/parse_file.h"
#include "train/weights/formats/torch_archive.h"
#include "train/weights/formats/torch_tensor.h"
#include "train/weights/weights_file.h"

namespace shoal::train {
namespace {

using Kind = PickleValue::Kind;

constexpr const char *kProgram = "program", *kExample = "PyTorch's imagenet example";
// The schedule that PyTorch's imagenet example used before 2022. Its checkpoints of that time do
// not contain the schedule.
constexpr double kDecayEpochs = 30, kDecayRate = 0.1;

std::optional<double> number_in(const PickleValue& dict, const char* key) {
  const PickleValue* const value = dict.find(key);
  if (value && value->kind == Kind::real) return value->real;
  if (value && value->kind == Kind::integer) return static_cast<double>(value->integer);
  return std::nullopt;
}

// Returns the parameter group of the SGD optimizer; null if `root` is not a checkpoint of PyTorch's
// imagenet example. Throws UserError if the optimizer is not SGD, or has several groups or
// dampening.
const PickleValue* find_group(const PickleValue& root) {
  const PickleValue *const arch = root.find("arch"), *const epoch = root.find("epoch"),
                           *const optimizer = root.find("optimizer");
  if (!arch || arch->kind != Kind::text || !epoch || epoch->kind != Kind::integer ||
      !root.find("state_dict") || !optimizer)
    return nullptr;
  const PickleValue* const groups = optimizer->find("param_groups");
  if (!groups || groups->kind != Kind::sequence || groups->items.empty()) return nullptr;
  const PickleValue& group = *groups->items[0];
  const PickleValue* const params = group.find("params");
  if (groups->items.size() != 1 || !group.find("nesterov") || !params ||
      number_in(group, "dampening").value_or(0) != 0)
    throw UserError(
        "was not made with plain SGD (one parameter group, no dampening), so --resume cannot "
        "continue it; start a new run from its weights with --weights");
  if (epoch->integer < 0 || epoch->integer > 1'000'000)
    throw std::runtime_error("its epoch is out of range");
  return &group;
}

// Converts the momentum buffers. The file identifies a buffer by the number of its parameter, in
// the order of the parameters, not by a name.
NamedTensors read_momentum(TorchArchive& file, const PickleValue& group, const std::string& arch,
                           int64_t classes) {
  const std::vector<models::Parameter> parameters = default_network(arch, classes).parameters;
  const std::vector<const PickleValue*>& numbers = group.find("params")->items;
  if (numbers.size() != parameters.size())
    throw UserError(
        strf("has %zu parameters in its optimizer, but %s has %zu; start a new run from "
             "its weights with --weights",
             numbers.size(), arch.c_str(), parameters.size()));
  std::map<int64_t, const PickleValue*> buffers;  // by parameter number
  const PickleValue* const state = file.root().find("optimizer")->find("state");
  for (size_t i = 0; state && state->kind == Kind::dict && i + 1 < state->items.size(); i += 2) {
    const PickleValue* const buffer = state->items[i + 1]->find("momentum_buffer");
    if (buffer && tensor_call(buffer)) buffers[state->items[i]->integer] = tensor_call(buffer);
  }
  NamedTensors momentum;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto& name = parameters[i].name;
    const auto& sizes = parameters[i].shape;
    const auto found = buffers.find(numbers[i]->integer);
    at::Tensor value = found == buffers.end()
                           ? at::zeros(sizes)
                           : copied_tensor(file.tensor(*found->second, "momentum of " + name));
    if (value.sizes() != at::IntArrayRef(sizes))
      throw std::runtime_error("the momentum of " + name + " has the shape " +
                               shape_text(value.sizes().vec()) + " instead of " +
                               shape_text(sizes));
    momentum.emplace_back(name, std::move(value));
  }
  return momentum;
}

std::vector<std::pair<std::string, std::string>> settings_in(const PickleValue& root,
                                                             const PickleValue& group,
                                                             const std::string& arch) {
  double lr = number_in(group, "lr").value_or(0), every = kDecayEpochs, rate = kDecayRate;
  const PickleValue* const scheduler = root.find("scheduler");
  if (scheduler && number_in(*scheduler, "step_size") && number_in(group, "initial_lr")) {
    lr = *number_in(group, "initial_lr");
    every = *number_in(*scheduler, "step_size");
    rate = number_in(*scheduler, "gamma").value_or(rate);
  } else {
    // `lr` is the learning rate of the last finished epoch. Computes the initial one from it.
    const double last = std::max<double>(0, static_cast<double>(root.find("epoch")->integer) - 1);
    lr *= std::pow(1 / rate, std::floor(last / every));
  }
  const PickleValue* const nesterov = group.find("nesterov");
  return {{"model", arch},
          {"optimizer", "sgd"},
          {"momentum", number(number_in(group, "momentum").value_or(0))},
          {"nesterov", nesterov->integer != 0 ? "true" : "false"},
          {"weight_decay", number(number_in(group, "weight_decay").value_or(0))},
          {"lr", number(lr)},
          {"schedule", "step"},
          {"decay_epochs", number(every)},
          {"decay_rate", number(rate)}};
}

void require_known(const std::string& arch) {
  const auto& known = models::names();
  if (std::find(known.begin(), known.end(), arch) == known.end())
    throw UserError("was made with the network " + arch.substr(0, 100) +
                    ", which shoal does not have; `shoal models` lists its networks");
}

// Reads everything except the weights, which data.model already contains.
void read_state(const std::vector<char>& bytes, CheckpointData& data) {
  TorchArchive archive(bytes);
  const PickleValue& root = archive.root();
  const PickleValue& group = *find_group(root);
  const std::string& arch = data.text["arch"] = root.find("arch")->text;
  const std::string classifier = default_network(arch).info.classifier;
  for (const auto& [name, value] : data.model)
    if (name == classifier) data.integers["classes"] = value.size(0);
  data.optimizer.emplace_back("momentum",
                              read_momentum(archive, group, arch, data.integer("classes")));
  data.integers["epoch"] = root.find("epoch")->integer;
  // Older versions of the example use the name best_prec1.
  const char* const name = root.find("best_acc1") ? "best_acc1" : "best_prec1";
  const PickleValue* const best = root.find(name);
  if (const auto value = number_in(root, name)) data.numbers["best_top1"] = *value;
  if (best && tensor_call(best)) {
    const at::Tensor value = copied_tensor(archive.tensor(*tensor_call(best), name));
    if (value.numel() == 1) data.numbers["best_top1"] = value.item<double>();
  }
  data.settings = settings_in(root, group, arch);
  data.text[kProgram] = kExample;
}

}  // namespace

std::optional<CheckpointData> read_imagenet_example(const std::vector<char>& bytes,
                                                    const std::string& file) {
  if (!is_torch_file(bytes)) return std::nullopt;
  const std::string arch = parse_file(file, kTorchSaveFile, [&]() -> std::string {
    const TorchArchive archive(bytes);
    if (!find_group(archive.root())) return "";
    require_known(archive.root().find("arch")->text);
    return archive.root().find("arch")->text;
  });
  if (arch.empty()) return std::nullopt;
  const CheckpointData weights = read_weights(bytes, file, "state_dict").data;
  CheckpointData data;
  try {
    data.model = adapt_weights(weights, default_network(arch)).tensors;
  } catch (const UserError& error) {
    throw UserError(file + ": " + error.what());
  }
  parse_file(file, kTorchSaveFile, [&] { read_state(bytes, data); });
  return data;
}

bool is_imagenet_example(const CheckpointData& data) {
  const auto program = data.text.find(kProgram);
  return program != data.text.end() && program->second == kExample;
}

Position restore_imagenet_example(Trainer& trainer, const CheckpointData& data,
                                  const ResolvedJob& job,
                                  const std::function<void(const std::string&)>& warn) {
  const int64_t classes = data.integer("classes");
  if (classes != job.model.classes)
    throw UserError(
        strf("the checkpoint is for %s, the data has %ld; --resume needs the "
             "classes that the run began with. To start anew from the weights, use "
             "--weights",
             counted(classes, "class").c_str(), job.model.classes));
  Position position;
  position.epoch = data.integer("epoch");
  position.step = position.epoch * job.steps_per_epoch;
  CheckpointData state = data;
  if (trainer.ema()) state.ema = state.model;
  state.integers["optimizer_steps"] = position.step;
  trainer.load(state, job.eval_only);
  if (const auto best = data.numbers.find("best_top1"); best != data.numbers.end())
    position.best_top1 = best->second;
  const std::string changed = changed_settings(data.settings, {}, /*within_epoch=*/false, job);
  if (!changed.empty()) warn("changed: " + changed);
  warn(strf(
      "this continues a checkpoint of %s after %s with its weights, momentum and "
      "learning rate schedule. The file does not contain batch size, data and seed: use those "
      "of the run. Image order and augmentation differ, and weight decay leaves out biases and "
      "batch norm",
      kExample, counted(position.epoch, "epoch").c_str()));
  return position;
}

}  // namespace shoal::train
