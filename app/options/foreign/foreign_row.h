#pragma once
// Helpers for the rows of the foreign_table*.cpp files. Not for other files.

#include <string>
#include <vector>

#include "app/options/foreign/foreign_options.h"

namespace shoal::app {

inline constexpr unsigned kPyTorch = kImagenet | kNvidiaPyTorch;

// Another program's name for an option of shoal, with the same values.
inline ForeignOption same(const char* name, unsigned programs, const char* ours) {
  return {name, programs, Kind::value, ours, "", nullptr};
}
inline ForeignOption same_flag(const char* name, unsigned programs, const char* ours) {
  return {name, programs, Kind::flag, ours, "", nullptr};
}

// An option without effect in shoal.
inline ForeignOption idle(const char* name, unsigned programs, const char* reason) {
  return {name, programs, Kind::value, "", reason, nullptr};
}
inline ForeignOption idle_flag(const char* name, unsigned programs, const char* reason) {
  return {name, programs, Kind::flag, "", reason, nullptr};
}
// An option without effect that takes a value in some versions of the program and none in others.
inline ForeignOption idle_switch(const char* name, unsigned programs, const char* reason) {
  return {name, programs, Kind::optional_value, "", reason, nullptr};
}

// Sets shoal's option `Ours` to `Constant` and ignores the value.
template <const char* Ours, const char* Constant>
Pairs always(const std::string&) {
  return {{Ours, Constant}};
}

// Converts the name of an augmenter (autoaugment, randaugment) to --auto-augment.
Pairs augmentation(const std::string& name);

// Reasons why an option has no effect, each used by several rows.
inline constexpr const char* kLoader = "shoal decodes images with its own loader";
inline constexpr const char* kOwnFiles = "a run always writes history.jsonl and summary.json";
inline constexpr const char* kEveryEpoch = "every epoch ends with a checkpoint";
inline constexpr const char* kModelFixed = "determined by --model, as in torchvision";

// The rows for timm's train.py and torchvision's references.
std::vector<ForeignOption> timm_rows();
// The rows for NVIDIA's TensorFlow 2 EfficientNet, and for examples based on it that use SMDDP,
// SageMaker's library for data-parallel training.
std::vector<ForeignOption> tensorflow_rows();

}  // namespace shoal::app
