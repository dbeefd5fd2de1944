#pragma once
// Reads a file of settings, --config FILE: TOML (.toml) or YAML (.yaml, .yml). Does not use
// LibTorch.
//
// An entry is NAME = VALUE (TOML) or NAME: VALUE (YAML). NAME is an option's name, with - or _; for
// `train` also the name of another program's option (foreign_options.h). Entries may be grouped
// under the headings of --help (group_name()). Also reads the args.yaml of timm's train.py
// (timm_args.h).

#include <string>
#include <vector>

#include "app/options/options.h"
#include "app/platform/files.h"

namespace shoal::app {

struct ConfigFile {
  std::vector<Setting> settings;   // in the order of the file; their origins are "FILE:LINE"
  std::vector<std::string> notes;  // what was ignored
};

// Reads the settings of a command. Options of other commands are ignored, so that commands can
// share a file. Throws UserError if the file cannot be read or parsed, or if an entry has an
// unknown name or group, is given twice, or is empty.
ConfigFile read_config(Command command, const std::string& path, const Files& files);

// Returns the name of an option group in a file: "learning-rate" for the heading "Learning rate".
std::string group_name(const std::string& heading);

// Returns a sentence that lists the entries of the file that another source overrides with a
// different value; empty if there are none. `arguments`: the settings of all sources.
std::string overridden_entries(const std::vector<Setting>& entries, const Arguments& arguments);

}  // namespace shoal::app
