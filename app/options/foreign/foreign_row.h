#pragma once
// Helpers for the rows of the table of other programs' options. For foreign_table*.cpp only.

#include <string>
#include <vector>

#include "app/options/foreign/foreign_options.h"

namespace shoal::app {

inline constexpr unsigned kAll = kImagenet | kNvidiaPyTorch | kNvidiaTensorFlow,
                          kPyTorch = kImagenet | kNvidiaPyTorch;

// An option of ours under another name.
inline ForeignOption same(const char* name, unsigned programs, const char* ours) {
  return {name, programs, Kind::value, ours, "", nullptr};
}
inline ForeignOption same_flag(const char* name, unsigned programs, const char* ours) {
  return {name, programs, Kind::flag, ours, "", nullptr};
}

// An option without effect here.
inline ForeignOption idle(const char* name, unsigned programs, const char* reason) {
  return {name, programs, Kind::value, "", reason, nullptr};
}
inline ForeignOption idle_flag(const char* name, unsigned programs, const char* reason) {
  return {name, programs, Kind::flag, "", reason, nullptr};
}
// An option that takes a value in one version of their program and none in another.
inline ForeignOption idle_switch(const char* name, unsigned programs, const char* reason) {
  return {name, programs, Kind::optional_value, "", reason, nullptr};
}

// `ours` to a constant, whatever the value.
template <const char* Ours, const char* Constant>
Pairs always(const std::string&) {
  return {{Ours, Constant}};
}

// The --auto-augment policy for an augmenter's name.
Pairs augmentation(const std::string& name);

// Reasons that several rows share.
inline constexpr const char* kLoader = "shoal decodes images with its own loader";
inline constexpr const char* kOwnFiles = "a run writes history.jsonl and summary.json";
inline constexpr const char* kEveryEpoch = "every epoch ends with an evaluation and a checkpoint";
inline constexpr const char* kModelFixed = "--model fixes it, as in torchvision";

// The rows of NVIDIA's TensorFlow 2 EfficientNet, which the SMDDP examples took over.
std::vector<ForeignOption> tensorflow_rows();

}  // namespace shoal::app
