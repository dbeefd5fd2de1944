#pragma once
// The part of a report that comes from OUTPUT/history.jsonl and OUTPUT/events.jsonl.

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace shoal::app {

// Returns an object:
//   train, valid, valid_ema   charts (series.h)
//   utilization               charts, one column per number, "gpu.0.memory"; absent if none;
//                             from "utilization" of a row or of its "timing"
//   epochs                    list of one object per epoch: its last values
//   steps_per_epoch           for positions in epochs
//   phases                    seconds of computing, waiting, evaluating and the rest
//   events                    list of {at, time, step, name, values}, oldest first
//   events_left_out           number of older events that the list omits
// "time" is in seconds since the first row. Appends notes for the reader of the report. Throws
// UserError if the folder has no history.
nlohmann::ordered_json read_history(const std::filesystem::path& folder,
                                    std::vector<std::string>& notes);

}  // namespace shoal::app
