#pragma once
// What signals mean to a worker that trains.

namespace shoal::app {

// SIGTERM and SIGINT ask the loop to save and stop (train/stop.h); a second one leaves at once with
// exit code 128 + N. SIGHUP is taken as SIGTERM unless it is ignored. SIGUSR1 asks for a
// checkpoint. Call once, before the first thread.
void install_training_signals();

}  // namespace shoal::app
