#include "train/checkpoint/export.h"

#include <filesystem>
#include <map>
#include <span>
#include <stdexcept>
#include <system_error>

#include "base/file/whole_file.h"
#include "base/json.h"
#include "base/log.h"
#include "models/catalogue.h"
#include "train/report/sinks.h"
#include "train/weights/model_file.h"
#include "train/weights/onnx/onnx_file.h"
#include "train/weights/preprocessing.h"

namespace shoal::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Describes the images that the model expects.
Json images_of(const CheckpointData& data) {
  const Normalization normalization = normalization_in(data);
  const auto per_channel = [&](const ChannelValues& values) {
    return std::vector<double>(values.begin(), values.begin() + channels_in(data));
  };
  return {{"resize", data.integer("val_resize")},          {"crop", data.integer("val_size")},
          {"interpolation", data.string("interpolation")}, {"channels", channels_in(data)},
          {"mean", per_channel(normalization.mean)},       {"std", per_channel(normalization.std)}};
}

Json settings_of(const CheckpointData& data, const Exported& which) {
  Json json = {{"model", data.string("arch")},  {"classes", data.integer("classes")},
               {"averaged", !data.ema.empty()}, {"epoch", data.integer("epoch")},
               {"step", data.integer("step")},  {"weights", which.best ? "best" : "last"}};
  if (which.top1) json["top1"] = *which.top1;
  if (data.numbers.contains("best_top1")) json["best_top1"] = data.number("best_top1");
  json["images"] = images_of(data);
  for (const auto& [name, value] : data.settings) json["settings"][name] = value;
  return json;
}

// Returns the metadata of an ONNX model as keys and values. Values other than strings are JSON.
std::vector<std::pair<std::string, std::string>> onnx_metadata(const CheckpointData& data) {
  Json json = {{"model", data.string("arch")}, {"averaged", !data.ema.empty()}};
  if (data.text.contains(kAverageOf))
    json[kAverageOf] = data.string(kAverageOf);
  else
    json.update({{"epoch", data.integer("epoch")}, {"step", data.integer("step")}});
  if (!data.classes.empty()) json["class_names"] = data.classes;
  json.update(images_of(data));
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [key, value] : json.items())
    texts.emplace_back(key, value.is_string() ? value.get<std::string>() : json_text(value));
  return texts;
}

std::string onnx_of(const CheckpointData& data, const ExportFileOptions& options) {
  models::ModelOptions model;
  model.name = data.string("arch");
  model.classes = data.integer("classes");
  model.channels = channels_in(data);
  const models::Network network = models::make_network(model);
  std::map<std::string, at::Tensor> floats;
  for (const auto& [name, value] : finished_weights(data))
    if (value.is_floating_point()) floats[name] = value.to(at::kFloat).contiguous();
  const auto find = [&](const std::string& name) -> std::span<const float> {
    const auto it = floats.find(name);
    if (it == floats.end()) return {};
    return {it->second.const_data_ptr<float>(), static_cast<size_t>(it->second.numel())};
  };
  Job job;
  take_preprocessing(data, job);
  return onnx_file(network, find,
                   {.evaluation = evaluation_transform(job, network.info),
                    .dynamic_batch = options.dynamic_batch,
                    .with_preprocessing = options.with_preprocessing,
                    .metadata = onnx_metadata(data)});
}

}  // namespace

void export_file(const CheckpointData& data, const ExportFileOptions& options,
                 const fs::path& file) {
  using Format = ExportFileOptions::Format;
  switch (options.format.value()) {
    case Format::onnx:
      return write_whole(file, onnx_of(data, options));
    case Format::safetensors:
      return write_whole(file, [&](const ByteSink& sink) { write_model(data, sink); });
    case Format::torchvision:
      return write_whole(
          file, [&](const ByteSink& sink) { write_state_dict(finished_weights(data), sink); });
  }
}

void export_model(const CheckpointData& data, const std::string& folder, const Exported& which) {
  create_folders(folder);
  write_whole(fs::path(folder) / kModelFile,
              [&](const ByteSink& sink) { write_model(data, sink); });
  write_whole(fs::path(folder) / kClassesFile, classes_json(data.classes) + "\n");
  write_whole(fs::path(folder) / "settings.json", json_text(settings_of(data, which), 2) + "\n");
}

Exported export_run(const ResolvedJob& job, const CheckpointStore& store, const Position& position,
                    const std::function<CheckpointData()>& last) {
  const std::string folder = job.export_dir;
  Exported exported;
  exported.file = folder + "/" + kModelFile;
  exported.step = position.step;
  std::optional<CheckpointData> data;
  if (const auto best = store.best(); best && job.export_weights == ExportWeights::best) {
    try {
      data = read_checkpoint(store.read(*best), store.path(*best).string());
      // A resumed run may have saved its best checkpoint in another directory.
      if (position.best_top1.value_or(0) > best->top1.value_or(0))
        log::warning(
            strf("the best evaluation of this run, Acc@1 %.3f, has no checkpoint in %s; "
                 "exporting the best checkpoint there",
                 *position.best_top1, store.directory().c_str()));
      exported.best = true;
      exported.step = best->step;
      exported.top1 = best->top1;
    } catch (const std::runtime_error& error) {
      log::warning(std::string(error.what()) + "; exporting the last weights instead");
    }
  }
  if (!data) {
    data = last();
    for (const CheckpointEntry& entry : store.entries()) {
      if (entry.step == position.step && entry.epoch == data->integer("epoch"))
        exported.top1 = entry.top1;
    }
  }
  exported.epoch = data->integer("epoch");
  export_model(*data, folder, exported);
  log::info(strf("exported %s: the %s weights, epoch %ld, step %ld, %s", exported.file.c_str(),
                 exported.best ? "best" : "last", exported.epoch, exported.step,
                 exported.top1 ? strf("Acc@1 %.3f", *exported.top1).c_str() : "not evaluated"));
  return exported;
}

}  // namespace shoal::train
