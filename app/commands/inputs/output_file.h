#pragma once
// Checks of the file that --output names.

#include <filesystem>

namespace shoal::app {

// Throws UserError if `file` is a checkpoint of a run.
void require_no_checkpoint(const std::filesystem::path& file);

// Throws UserError if `file` is the same file as `input`, which the command reads.
void require_not_input(const std::filesystem::path& file, const std::filesystem::path& input);

}  // namespace shoal::app
