#pragma once
// What signals mean to a worker that trains.

namespace shoal::app {

// SIGTERM and SIGINT ask the loop to save and stop (train/stop.h); a second one leaves at once with
// exit code 128 + N. SIGHUP is taken as SIGTERM unless it is ignored. SIGUSR1 asks for a
// checkpoint. Call once, before the first thread. Until training_begins() there is nothing to save
// and perhaps somebody to wait for: the first one leaves at once, on the platform with 0.
void install_training_signals(bool on_platform);
void training_begins();

}  // namespace shoal::app
