#include "app/commands/local/metric_definitions.h"

#include <string>
#include <vector>

#include "base/json.h"
#include "train/report/host/utilization.h"

namespace shoal::app {
namespace {

// Matches the start of a line and the launcher's prefix, if there is one: mpirun and horovodrun
// ("[1,0]<stdout>:", perhaps with the time before it), torchrun ("[default0]:"), kubectl
// ("[pod/worker-0/main] "), srun ("0: ") or docker compose ("worker-1  | "). Lines of stderr
// ("[1,0]<stderr>:") do not match.
const std::string kStart =
    R"(^(?:(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})?\[[^\]]+\](?:<stdout>)?[: ]|)"
    R"( *\d+: |[\w.-]+ +\| )?)";

}  // namespace

const std::vector<MetricDefinition>& metric_definitions() {
  static const std::vector<MetricDefinition> table = [] {
    std::vector<MetricDefinition> list;
    const auto add = [&](const std::string& name, const std::string& regex) {
      list.push_back({name, kStart + regex});
    };
    for (const char* kind : {"train", "valid"}) {
      const bool train = std::string(kind) == "train";
      const std::vector<const char*> keys =
          train ? std::vector{"loss",           "acc1",      "acc5",      "lr",
                              "images_per_sec", "step_time", "data_time", "grad_norm"}
                : std::vector{"loss",     "acc1",     "acc5",    "images_per_sec",
                              "ema_loss", "ema_acc1", "ema_acc5"};
      for (const char* key : keys) {
        const std::string name = std::string(kind) + ":" + key;
        add(name, "(?:" + std::string(kind) + ":.*; )?" + name + "=([-+0-9.eE]+);");
      }
    }
    add("epoch", "train:.*; epoch=([0-9]+);");
    for (const char* name : train::kUtilizationNames)
      add(std::string("util:") + name, "util:(?:.*; util:)?" + std::string(name) + "=([0-9.]+);");
    // Existing SageMaker jobs use the next eight expressions for PyTorch's imagenet example.
    const auto imagenet = [&](const char* name, const char* line, const char* label) {
      add(name, std::string(line) + ":.*" + label + R"(\s+([e\-+0-9\\.]*) \()");
    };
    imagenet("loss", "Epoch", "Loss");
    imagenet("acc1", "Epoch", "Acc@1");
    imagenet("acc5", "Epoch", "Acc@5");
    imagenet("time", "Epoch", "Time");
    imagenet("data_time", "Epoch", "Data");
    imagenet("test_loss", "Test", "Loss");
    imagenet("test_acc1", "Test", "Acc@1");
    imagenet("test_acc5", "Test", "Acc@5");
    add("final_acc1", R"(\s*\*\s+Acc@1\s+([0-9.]+)\s+Acc@5)");
    add("final_acc5", R"(\s*\*\s+Acc@1\s+[0-9.]+\s+Acc@5\s+([0-9.]+))");
    add("total_time", R"(Total time:\s+([0-9.]+) seconds)");
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
