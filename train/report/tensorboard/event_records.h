#pragma once
// Records of TensorBoard's event files: messages (tensorboard.proto), framed as TFRecords. Hides
// protobuf. Does not use LibTorch.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "train/job/saved_setting.h"
#include "train/report/report.h"

namespace shoal::train {

// Returns the time in seconds since 1970.
double wall_time();

// Each function below returns records. `time`: seconds since 1970. Functions without it use the
// current time.
//
// The start of a file. A reader that has read an earlier file of the run then drops the points from
// it.
std::string first_records();
std::string scalar_record(double time, int64_t step, const NamedValues& values);
// All images in one large image, as a JPEG, and the captions as a table.
std::string image_record(const ImageGrid& grid);
std::string histogram_record(int64_t step, const std::vector<Histogram>& histograms);
std::string text_record(const std::string& tag, const std::string& markdown);
std::string hparams_record(const std::vector<SavedSetting>& settings, double time);
// `outcome`: as in RunEnd.
std::string hparams_end_record(const std::string& outcome, double time);

// Returns the records of `file` that contain images or histograms and for which `keep` returns
// true. `tag`: the tag of the record's first image or histogram. Stops at a damaged record, which a
// crash may leave at the end.
std::string kept_records(const std::vector<char>& file,
                         const std::function<bool(const std::string& tag, int64_t step)>& keep);

}  // namespace shoal::train
