#include "app/commands/local/metric_definitions.h"

#include <nlohmann/json.hpp>

namespace shoal::app {

const std::vector<MetricDefinition>& metric_definitions() {
  static const std::vector<MetricDefinition> table = [] {
    std::vector<MetricDefinition> list;
    for (const char* key :
         {"train:loss", "train:acc1", "train:acc5", "train:lr", "train:images_per_sec",
          "train:step_time", "train:data_time", "train:grad_norm", "valid:loss", "valid:acc1",
          "valid:acc5", "valid:images_per_sec", "valid:ema_loss", "valid:ema_acc1",
          "valid:ema_acc5"}) {
      list.push_back({key, std::string(key) + "=([-+0-9.eE]+);"});
    }
    list.push_back({"epoch", "train:.*; epoch=([0-9]+);"});
    // The exact eight expressions that job definitions for the imagenet example use.
    const auto imagenet = [&](const char* name, const char* line, const char* label) {
      list.push_back({name, std::string(line) + ":.*" + label + R"(\s+([e\-+0-9\\.]*) \()"});
    };
    imagenet("loss", "Epoch", "Loss");
    imagenet("acc1", "Epoch", "Acc@1");
    imagenet("acc5", "Epoch", "Acc@5");
    imagenet("time", "Epoch", "Time");
    imagenet("data_time", "Epoch", "Data");
    imagenet("test_loss", "Test", "Loss");
    imagenet("test_acc1", "Test", "Acc@1");
    imagenet("test_acc5", "Test", "Acc@5");
    list.push_back({"final_acc1", R"(\*\s+Acc@1\s+([0-9.]+)\s+Acc@5)"});
    list.push_back({"final_acc5", R"(\*\s+Acc@1\s+[0-9.]+\s+Acc@5\s+([0-9.]+))"});
    list.push_back({"total_time", R"(Total time:\s+([0-9.]+) seconds)"});
    return list;
  }();
  return table;
}

std::string metric_definitions_json() {
  auto list = nlohmann::ordered_json::array();
  for (const MetricDefinition& metric : metric_definitions()) {
    list.push_back({{"Name", metric.name}, {"Regex", metric.regex}});
  }
  return list.dump(2);
}

}  // namespace shoal::app
