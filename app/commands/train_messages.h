#pragma once
// Messages of `shoal train` on its settings and on --dry-run.

#include "app/options/options.h"
#include "dist/connect.h"
#include "train/checkpoint/find_checkpoint.h"
#include "train/trial/dry_run.h"

namespace shoal::app {

// Logs the settings, and warnings about settings that have no effect or are often wrong.
void print_start(const Arguments& arguments, const train::ResolvedJob& job,
                 const train::Start& start);

// Logs the result of --dry-run.
void print_dry_run(const train::ResolvedJob& job, const train::DryRun& found,
                   const dist::Communicator& communicator);

}  // namespace shoal::app
