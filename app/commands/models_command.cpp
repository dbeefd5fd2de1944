// shoal models: lists the networks.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/commands/commands.h"
#include "base/log.h"
#include "models/model.h"

namespace shoal::app {
namespace {

// 5288548 → "5,288,548"
std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<size_t>(at), ",");
  return text;
}

}  // namespace

int models_command(const Arguments& arguments) {
  auto json = nlohmann::ordered_json::array();
  if (!arguments.json) {
    log::line(strf("%-18s %13s %15s %10s %12s %10s  %s", "name", "parameters", "multiply-adds",
                   "train size", "eval resize", "eval crop", "filter"));
  }
  for (const std::string& name : models::names()) {
    models::ModelOptions options;
    options.name = name;
    options.classes = arguments.job.classes.value_or(options.classes);
    const models::ModelInfo info = models::describe(options);
    const char* filter = info.bicubic ? "bicubic" : "bilinear";
    if (arguments.json) {
      json.push_back({{"name", info.name},
                      {"classes", info.classes},
                      {"parameters", info.parameters},
                      {"multiply_adds", info.multiply_adds},
                      {"train_size", info.train_size},
                      {"eval_size", info.eval_size},
                      {"eval_resize", info.eval_resize},
                      {"interpolation", filter}});
      continue;
    }
    log::line(strf("%-18s %13s %13.2f G %7lld px %9lld px %7lld px  %s", info.name.c_str(),
                   grouped(info.parameters).c_str(), info.multiply_adds / 1e9,
                   static_cast<long long>(info.train_size),
                   static_cast<long long>(info.eval_resize), static_cast<long long>(info.eval_size),
                   filter));
  }
  if (arguments.json) log::line(json.dump(2));
  return 0;
}

}  // namespace shoal::app
