#pragma once
// The metrics of one class as JSON. Does not use LibTorch.

#include <nlohmann/json.hpp>

#include "train/report/classification.h"

namespace shoal::train {

// Adds the members "images", "precision", "recall" and "f1" to an object. A metric that is
// undefined becomes null.
inline void append_metrics(nlohmann::ordered_json& object, const ClassCounts& counts) {
  const auto append = [&](const char* name, const std::optional<double>& value) {
    object[name] = value ? nlohmann::ordered_json(*value) : nullptr;
  };
  object["images"] = counts.images;
  append("precision", counts.precision());
  append("recall", counts.recall());
  append("f1", counts.f1());
}

}  // namespace shoal::train
