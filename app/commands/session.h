#pragma once
// What train and eval do before the first image: logging, settings, threads, connections.

#include "app/commands/datasets.h"
#include "dist/connect.h"
#include "train/run/job.h"
#include "train/step/device.h"

namespace shoal::app {

// Checks the values, sets up logging and the allocator. Call first. predict, which is never
// distributed, passes an empty Env.
void begin(const train::Job& job, const dist::Env& env);

// Decides everything that is open and sets the compute threads. Collective.
train::ResolvedJob settle(const train::Job& job, const train::Gpus& gpus, const Datasets& datasets,
                          const dist::Communicator& communicator);

// --health-check: this host's resources, then all hosts together (dist/health/health.h). Throws
// std::runtime_error naming what is bad. Collective.
void check_health(const train::Job& job, const dist::Communicator& communicator);

dist::Communicator connect_ranks(const train::Job& job, const train::Gpus& gpus,
                                 const dist::Env& env);

}  // namespace shoal::app
