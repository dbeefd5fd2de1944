#pragma once
// Reads the args.yaml that timm's train.py writes: all its arguments, most of them unset. Does not
// use LibTorch.

#include <string>
#include <vector>

#include "app/options/settings/config_entries.h"

namespace shoal::app {

// Whether the entries come from timm's train.py, recognized by five of its arguments.
bool is_timm_args(const std::vector<ConfigEntry>& entries);

// Returns the arguments that have a value and that shoal supports, as an option or by an equivalent
// (foreign_options.h). Omits color-jitter if timm's augmentation policy turns it off, clip-grad if
// clip-mode is not norm, and arguments that begin with lr-base if lr has a value. Adds drop-path 0,
// the default of timm's networks, if neither drop-path nor drop-connect is given.
//
// Appends to `ignored` the names of all other arguments, except color-jitter, clip-mode, those that
// begin with lr-base if lr has a value, and arguments that have no value or the value 0.
std::vector<ConfigEntry> kept_timm_args(const std::vector<ConfigEntry>& entries,
                                        std::vector<std::string>& ignored);

}  // namespace shoal::app
