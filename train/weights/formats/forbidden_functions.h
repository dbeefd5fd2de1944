#pragma once
// Recognizes pickles made to run programs or code in Python. shoal executes nothing in a pickle,
// but such a file was written to attack its readers. Does not use LibTorch.

#include "train/weights/formats/pickle.h"

namespace shoal::train {

// Throws UserError if the pickle refers to a function that can run programs or code, or change
// files: anything of modules such as os, subprocess and sys, and functions such as
// builtins.eval. The message names the function and, where known, the entry of the file's dict.
// Plain classes of any module are allowed, because checkpoints contain settings of all kinds.
// The caller adds the file's name in front of the message.
void refuse_forbidden_functions(const Pickle& pickle);

}  // namespace shoal::train
