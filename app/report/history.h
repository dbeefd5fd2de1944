#pragma once
// Reads the part of a report that comes from OUTPUT/history.jsonl and OUTPUT/events.jsonl.

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace shoal::app {

// Returns an object:
//   train, valid, valid_ema   charts (series.h)
//   utilization               chart with one column per number, such as "gpu.0.memory", from
//                             "utilization" of a row or of its "timing"; absent if no row has it
//   epochs                    list with one object per epoch: its last values; `best` is true for
//                             the highest deciding_acc1 (EpochValues::deciding_top1())
//   steps_per_epoch           converts steps to epochs for the x axis
//   phases                    seconds spent computing, waiting and evaluating, and the rest
//   events                    list of {at: UTC as text, time, step, name, values}, oldest first
//   events_left_out           number of older events that the list omits
// "time" is in seconds since the first row. Appends notes for the reader of the report, such as the
// number of damaged lines. Throws UserError if the folder has no history.jsonl, std::system_error
// if a file cannot be read.
nlohmann::ordered_json read_history(const std::filesystem::path& folder,
                                    std::vector<std::string>& notes);

}  // namespace shoal::app
