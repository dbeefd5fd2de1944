#pragma once
// Signal handlers of training, of commands that poll for a stop, and of commands that resume.

namespace shoal::app {

// SIGTERM and SIGINT make the training loop save a checkpoint and stop (train/control/stop.h); a
// second one exits immediately with code 128 + N. SIGHUP acts like SIGTERM unless it is ignored
// (nohup). SIGUSR1 requests a checkpoint. Before training_begins() there is nothing to save, so the
// first SIGTERM or SIGINT exits immediately, with code 0 if `on_platform`. Call once, before the
// first thread starts.
void install_training_signals(bool on_platform);
void training_begins();

// SIGTERM and SIGINT set train::stop_signal(), which the command polls; a second one exits
// immediately.
void install_polled_signals();

// SIGTERM and SIGINT exit immediately with code 128 + N and print that repeating the command
// continues. For commands whose files are consistent at any time.
void install_resumable_signals();

}  // namespace shoal::app
