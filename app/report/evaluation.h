#pragma once
// Reads the part of a report that comes from OUTPUT/evaluation.json.

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace shoal::app {

// Returns an object with those members of the file that the page shows. These members have another
// form than in the file:
//   confusion   [label, predicted label, count, label, …], largest counts first
//   per_class   {"images": […], "precision": […], "recall": […], "f1": […]}, by label
//   calibration {"ece": …, "bins": [[confidence, accuracy, images], …]}
//   worst       each image also has "image", its thumbnail as a JPEG data URL, if the file has one
// Returns null and appends a note if the file does not exist or cannot be used.
nlohmann::ordered_json read_evaluation(const std::filesystem::path& folder,
                                       std::vector<std::string>& notes);

}  // namespace shoal::app
