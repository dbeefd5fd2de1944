#pragma once
// summary.json: how a run ended, what it reached, and everything needed to repeat it. Torch-free.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "train/run/job.h"

namespace shoal::train {

// Of this process's steps.
struct WaitReport {
  int64_t steps = 0, waited = 0;  // waited: that waited for images, more than a millisecond
  double seconds = 0, data_seconds = 0;
};

// An evaluated state of the run.
struct Evaluated {
  double top1 = 0;                     // percent
  std::optional<int64_t> epoch, step;  // epochs finished, steps done; not in older checkpoints
};

// The weights in --export-dir.
struct Exported {
  std::string file;
  bool best = false;            // of the best evaluation; else the last
  int64_t epoch = 0, step = 0;  // epochs finished (or under way), steps done
  std::optional<double> top1;   // percent; nothing: they were not evaluated
};

// How a run ended.
struct Ending {
  std::string outcome;  // complete | stopped | failed | evaluated
  std::string reason;   // of a failure, a sentence; else empty
  int64_t epoch = 0, step = 0;
  double seconds = 0;
  WaitReport wait;
  std::optional<Evaluated> best;
  std::optional<Exported> exported;
};

// The last rows of history.jsonl of each kind, as JSON; empty: there was none.
struct LastRows {
  std::string train, valid, valid_ema;
};

// Replaces `path` as a whole. Throws std::runtime_error with the path.
void write_summary(const std::filesystem::path& path, const ResolvedJob& job, const Ending& ending,
                   const LastRows& rows, const std::string& started);

// Whether `path` is the summary of a run that was completed.
bool tells_of_success(const std::filesystem::path& path);

// The time now, ISO 8601 in UTC: "2026-11-23T08:30:00.123Z".
std::string utc_time();

}  // namespace shoal::train
