#pragma once
// Start-up of commands before the first image: logging, settings, threads, connections.

#include "app/commands/inputs/datasets.h"
#include "dist/connect.h"
#include "train/job/job.h"
#include "train/step/device.h"

namespace shoal::app {

// Checks option values, except with --resume, and sets up logging and the memory allocator. Throws
// UserError. Call first.
// Commands that are never distributed, such as pack, pass an empty Env.
void begin(const train::Job& job, const dist::Env& env);

// Resolves the settings that the job leaves open, and sets the number of compute threads. With
// --batch-size auto, first stores a batch size in `job`. Throws UserError if an option is not valid
// or if training needs more memory than there is. Collective.
train::ResolvedJob resolve_job(train::Job& job, const train::Gpus& gpus, const Datasets& datasets,
                               const dist::Communicator& communicator);

// Runs --health-check: checks this host's memory, then all hosts and network links
// (dist/health/health.h). Throws std::runtime_error that names the failed check. Collective.
void check_health(const train::Job& job, const dist::Communicator& communicator);

// Connects all ranks with the job's backend and timeouts. If a rank or host is lost later, another
// thread calls `lost` with a sentence that names it. Collective.
dist::Communicator connect_ranks(const train::Job& job, const train::Gpus& gpus,
                                 const dist::Env& env, std::shared_ptr<dist::Progress> progress,
                                 const dist::Notify& lost);

}  // namespace shoal::app
