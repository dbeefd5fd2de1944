#pragma once
// The settings that a run saves in its checkpoints. Does not use LibTorch.

#include <string>

namespace shoal::train {

// Whether a setting may differ between a checkpoint and the run that resumes it.
enum class MayDiffer {
  always,          // yes; a warning names the change
  between_epochs,  // only between epochs: within an epoch, the setting decides which images remain
  never            // no, because the run would not continue exactly
};

// A setting that changes results. Each is printed, saved in checkpoints and summary.json, and
// compared at --resume. Created from the table of options (app/options/settings/saved_settings.h).
struct SavedSetting {
  std::string name, value;  // "global_batch_size", "256"
  MayDiffer may_differ = MayDiffer::always;
  bool evaluation = false;  // whether evaluation depends on the setting, too
  std::string advice;       // what to do if the change is refused; "{}" becomes the saved value
  // Whether the setting has an effect in this run. A setting without effect, both in the run that
  // saved the checkpoint and in the run that resumes it, may always differ.
  bool effective = true;
  bool is_default = false;  // whether the value is a default that does not depend on the run
};

}  // namespace shoal::train
