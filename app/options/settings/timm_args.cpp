#include "app/options/settings/timm_args.h"

#include <algorithm>
#include <cstdlib>

#include "app/options/foreign/foreign_options.h"
#include "base/text.h"

namespace shoal::app {
namespace {

// Arguments of timm that share their name, but not their meaning, with an option of shoal:
// --val-split and --train-split name a split, and --device may contain a device number.
constexpr const char* kOtherMeaning[] = {"val-split", "train-split", "device"};

const ConfigEntry* entry_named(const std::vector<ConfigEntry>& entries, const char* name) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const ConfigEntry& entry) {
    return with_dashes(entry.name) == name;
  });
  return found == entries.end() ? nullptr : &*found;
}

bool is_unset(const ConfigEntry& entry) {
  const std::string value = lower(entry.value);
  for (const char* unset : {"", "null", "none", "false", "[]", "{}"})
    if (value == unset) return true;
  return false;
}

bool is_zero(const std::string& value) {
  char* end = nullptr;
  return std::strtod(value.c_str(), &end) == 0 && end == value.c_str() + value.size();
}

bool has_option(const std::string& name) {
  for (const char* other : kOtherMeaning)
    if (name == other) return false;
  if (find_option(Command::train, name)) return true;
  const ForeignOption* const foreign = find_foreign(name);
  return foreign && !foreign->ours.empty();
}

}  // namespace

bool is_timm_args(const std::vector<ConfigEntry>& entries) {
  for (const char* name : {"opt", "sched", "reprob", "train-interpolation", "model-ema"})
    if (!entry_named(entries, name)) return false;
  return true;
}

std::vector<ConfigEntry> kept_timm_args(const std::vector<ConfigEntry>& entries,
                                        std::vector<std::string>& ignored) {
  std::vector<ConfigEntry> kept;
  const ConfigEntry* const policy = entry_named(entries, "aa");
  // In timm, an augmentation policy turns color jitter off, unless it is a 3-Augment policy.
  const bool jitters = !policy || is_unset(*policy) || policy->value.starts_with("3a");
  const ConfigEntry* const mode = entry_named(entries, "clip-mode");
  const bool other_clipping = mode && !is_unset(*mode) && mode->value != "norm";
  // args.yaml always contains lr_base, lr_base_size and lr_base_scale. timm uses them only if lr is
  // not set.
  const ConfigEntry* const lr = entry_named(entries, "lr");
  const bool has_lr = lr && !is_unset(*lr);
  for (const ConfigEntry& entry : entries) {
    const std::string name = with_dashes(entry.name);
    if (is_unset(entry) || (name == "color-jitter" && !jitters) || name == "clip-mode") continue;
    if (has_lr && name.starts_with("lr-base")) continue;
    if (name == "clip-grad" && other_clipping) {
      ignored.push_back(entry.name + " (clip_mode " + mode->value + ")");
      continue;
    }
    if (has_option(name))
      kept.push_back(entry);
    else if (!is_zero(entry.value))
      ignored.push_back(entry.name);
  }
  // By default, shoal's EfficientNets use stochastic depth, and timm's networks do not.
  if (!entry_named(kept, "drop-path") && !entry_named(kept, "drop-connect"))
    kept.push_back({"", "drop-path", "0", 0});
  return kept;
}

}  // namespace shoal::app
