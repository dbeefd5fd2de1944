#include "app/commands/inspect_onnx.h"

#include <algorithm>

#include "app/commands/printable_row.h"
#include "base/format/counted.h"
#include "base/format/grouped.h"
#include "base/json.h"
#include "base/log.h"
#include "train/weights/onnx/onnx_summary.h"
#include "train/weights/tensor_fit.h"

namespace shoal::app {
namespace {

using Json = nlohmann::ordered_json;
using train::OnnxSummary;

constexpr const char* kClassNames = "class_names";  // shoal's metadata key; value is a JSON list

std::string value_text(const OnnxSummary::Value& value) {
  return value.name + ": " + value.type + " " + joined(value.shape, "×");
}

// Returns the class names in the metadata; empty if there are none.
std::vector<std::string> class_names(const OnnxSummary& model) {
  for (const auto& [key, value] : model.metadata)
    if (key == kClassNames)
      if (const Json names = parse_json<Json>(value);
          names.is_array() &&
          std::ranges::all_of(names, [](const Json& name) { return name.is_string(); }))
        return names.get<std::vector<std::string>>();
  return {};
}

std::string opsets_text(const OnnxSummary& model) {
  std::vector<std::string> texts;
  for (const auto& [domain, version] : model.opsets)
    texts.push_back((domain.empty() ? "opset " : domain + " ") + std::to_string(version));
  return joined(texts);
}

std::string metadata_text(const OnnxSummary& model) {
  std::vector<std::string> texts;
  for (const auto& [key, value] : model.metadata)
    if (key != kClassNames) texts.push_back(key + "=" + value.substr(0, 60));
  return joined(texts, "  ");
}

void print(const OnnxSummary& model, bool tensors) {
  const auto show = [](const char* heading, const std::string& text) {
    if (!text.empty()) log::line(printable_row(strf("%-10s", heading) + text));
  };
  show("format", strf("ONNX, %s, IR version %ld", opsets_text(model).c_str(), model.ir_version));
  show("producer", model.producer);
  show("graph", model.graph + ", " + counted(model.nodes, "node"));
  for (const auto& input : model.inputs) show("input", value_text(input));
  for (const auto& output : model.outputs) show("output", value_text(output));
  show("weights", counted(model.initializers.size(), "initializer") + ", " +
                      grouped(model.parameters) + " parameters and statistics");
  const auto classes = class_names(model);
  if (!classes.empty())
    show("classes", counted(classes.size(), "name") + ": " + train::first_of(classes, 12));
  show("metadata", metadata_text(model));
  if (!tensors) return;
  for (const auto& tensor : model.initializers) log::line(printable_row(value_text(tensor)));
}

Json to_json(const OnnxSummary::Value& value) {
  return {{"name", value.name}, {"shape", value.shape}, {"dtype", value.type}};
}

Json to_json(const std::vector<OnnxSummary::Value>& values) {
  Json json = Json::array();
  for (const auto& value : values) json.push_back(to_json(value));
  return json;
}

}  // namespace

void inspect_onnx(const std::string& file, const std::vector<char>& bytes, bool json,
                  bool tensors) {
  const OnnxSummary model = train::onnx_summary(bytes, file);
  if (!json) {
    log::line(
        printable_row(strf("%-10s", "file") + file + strf(", %.1f MB", megabytes(bytes.size()))));
    return print(model, tensors);
  }
  Json all = {{"file", file},
              {"bytes", bytes.size()},
              {"format", "ONNX"},
              {"producer", model.producer},
              {"ir_version", model.ir_version},
              {"graph", model.graph},
              {"nodes", model.nodes},
              {"inputs", to_json(model.inputs)},
              {"outputs", to_json(model.outputs)},
              {"initializers", model.initializers.size()},
              {"parameters", model.parameters},
              {"classes", class_names(model)}};
  for (const auto& [domain, version] : model.opsets)
    all["opsets"].push_back({{"domain", domain}, {"version", version}});
  for (const auto& [key, value] : model.metadata) all["metadata"][key] = value;
  if (tensors) all["tensors"] = to_json(model.initializers);
  log::line(json_text(all, 1));
}

}  // namespace shoal::app
