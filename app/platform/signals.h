#pragma once
// Signal handlers of the commands: training, commands that poll for a stop, and resumable commands.

namespace shoal::app {

// SIGTERM and SIGINT make the training loop save and stop (train/control/stop.h); a second one exits at
// once with code 128 + N. SIGHUP acts as SIGTERM unless it is ignored. SIGUSR1 requests a checkpoint.
// Until training_begins() there is nothing to save, so the first SIGTERM or SIGINT exits at once, on
// the platform with code 0. Call once, before the first thread starts.
void install_training_signals(bool on_platform);
void training_begins();

// SIGTERM and SIGINT set stop_signal(), which the command polls; a second one exits at once.
void install_polled_signals();

// SIGTERM and SIGINT exit with code 128 + N and print that the same command resumes. For commands
// whose files are consistent at every moment.
void install_resumable_signals();

}  // namespace shoal::app
