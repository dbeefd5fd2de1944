#pragma once
// The part of a report that comes from OUTPUT/evaluation.json.

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace shoal::app {

// Returns an object with the file's members, of which some are packed:
//   confusion   [true, predicted, count, true, …], largest counts first
//   per_class   {"images": […], "precision": […], "recall": […], "f1": […]}
//   worst       each with "image", a JPEG as a data URL, or "missing", the reason why there is none
// Returns null and appends a note if the file does not exist or cannot be used.
nlohmann::ordered_json read_evaluation(const std::filesystem::path& folder,
                                       std::vector<std::string>& notes);

}  // namespace shoal::app
