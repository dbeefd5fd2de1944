#pragma once
// Records of TensorBoard's event files: messages (tensorboard.proto), framed as TFRecords. Callers
// need no protobuf headers. Does not use LibTorch.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "train/job/saved_setting.h"
#include "train/report/report.h"

namespace shoal::train {

// The functions below return records. New records contain the current time, but those of
// scalar_record() contain `time` instead. Every `time` is in seconds since 1970.

// Returns the first records of every file. They make a reader drop the points that it read from
// earlier files of the run.
std::string first_records();
std::string scalar_record(double time, int64_t step, const NamedValues& values);
// Combines all images into one large JPEG, and the captions into a table.
std::string image_record(const ImageGrid& grid);
std::string histogram_record(int64_t step, const std::vector<Histogram>& histograms);
std::string text_record(const std::string& tag, const std::string& markdown);
// `time`: start of the run.
std::string hparams_record(const std::vector<SavedSetting>& settings, double time);
// `time`: end of the run. `outcome`: as in RunEnd.
std::string hparams_end_record(const std::string& outcome, double time);

// Returns the records with images or histograms that `keep` accepts. `file`: bytes of an event
// file. `tag`: tag of the record's first value. Stops at a damaged record, which a crash may leave
// at the end.
std::string kept_records(const std::vector<char>& file,
                         const std::function<bool(const std::string& tag, int64_t step)>& keep);

}  // namespace shoal::train
