#include "train/weights/model_file.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "train/weights/formats/safetensors.h"

namespace shoal::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kIntegers[] = {"epoch", "step", "classes", "val_size", "val_resize"};
constexpr const char* kTexts[] = {"arch", "interpolation"};
constexpr const char* kOptionalTexts[] = {"mean", "std", "channels", "crop_pct", kAverageOf};

}  // namespace

NamedTensors finished_weights(const CheckpointData& data) {
  NamedTensors weights = data.model;
  for (const auto& [name, value] : data.ema) {
    const auto same = [&name = name](const auto& entry) { return entry.first == name; };
    const auto it = std::find_if(weights.begin(), weights.end(), same);
    if (it == weights.end()) {
      weights.emplace_back(name, value);
    } else {
      it->second = value;
    }
  }
  return weights;
}

void write_model(const CheckpointData& data, const ByteSink& sink) {
  Safetensors content;
  content.tensors = finished_weights(data);
  content.metadata = {{"format", "pt"}, {"program", "shoal"}};
  content.metadata["averaged"] = data.ema.empty() ? "false" : "true";
  content.metadata["class_names"] = Json(data.classes).dump();
  for (const char* name : kIntegers) content.metadata[name] = std::to_string(data.integer(name));
  for (const char* name : kTexts) content.metadata[name] = data.string(name);
  for (const char* name : kOptionalTexts)
    if (data.text.contains(name)) content.metadata[name] = data.string(name);
  write_safetensors(content, sink);
}

CheckpointData read_model(const std::vector<char>& bytes, const std::string& where) {
  Safetensors content = read_safetensors(bytes, where);
  const auto text = [&](const char* name) {
    const auto entry = content.metadata.find(name);
    if (entry == content.metadata.end()) {
      throw UserError(where + " has no " + name +
                      " in its metadata, so shoal did not write it; use a file written by shoal");
    }
    return entry->second;
  };
  CheckpointData data;
  for (const char* name : kTexts) data.text[name] = text(name);
  for (const char* name : kOptionalTexts)
    if (content.metadata.contains(name)) data.text[name] = text(name);
  try {
    for (const char* name : kIntegers) data.integers[name] = std::stoll(text(name));
    data.classes = parse_json<Json>(text("class_names")).get<std::vector<std::string>>();
  } catch (const UserError&) {
    throw;
  } catch (const std::exception&) {
    throw std::runtime_error(where + ": its metadata is damaged");
  }
  const bool averaged = text("averaged") == "true";
  (averaged ? data.ema : data.model) = std::move(content.tensors);
  return data;
}

}  // namespace shoal::train
