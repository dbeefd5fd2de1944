#pragma once
// What signals mean to a worker that trains, to a command that cleans up after itself, and to one
// that goes on where it was stopped.

namespace shoal::app {

// SIGTERM and SIGINT ask the loop to save and stop (train/run/stop.h); a second one leaves at once with
// exit code 128 + N. SIGHUP is taken as SIGTERM unless it is ignored. SIGUSR1 asks for a
// checkpoint. Call once, before the first thread. Until training_begins() there is nothing to save
// and perhaps somebody to wait for: the first one leaves at once, on the platform with 0.
void install_training_signals(bool on_platform);
void training_begins();

// SIGTERM and SIGINT are noted for a loop that polls stop_signal(); a second one leaves at once.
void install_polled_signals();

// SIGTERM and SIGINT end the program with exit code 128 + N and say that the same command goes on:
// for commands whose files are whole at every moment.
void install_resumable_signals();

}  // namespace shoal::app
