#pragma once
// Settings of a run that checkpoints contain. Does not use LibTorch.

#include <string>

namespace shoal::train {

// Whether a setting may differ between a checkpoint and the run that resumes it.
enum class MayDiffer {
  always,          // yes; a warning names the change
  between_epochs,  // only between epochs: the setting decides which images an epoch has left
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
  bool is_default = false;  // whether the value is the option's default, the same in all runs
};

}  // namespace shoal::train
