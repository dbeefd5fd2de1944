#pragma once
// Signal handlers of training, of commands that poll for a stop, and of commands that resume.

namespace shoal::app {

// Call first in main of shoal and shoal-worker. Keeps SIGTERM, SIGHUP and SIGUSR1 pending, also for
// the program that replaces this one or that it starts, until install_training_signals() or
// release_signals(). Ignores SIGUSR2. Makes a write to a closed pipe or beyond the limit of file
// sizes fail (EPIPE, EFBIG) instead of ending the program.
void hold_signals();

// For commands other than training: SIGTERM and SIGHUP take effect again. SIGUSR1 has no effect.
void release_signals();

// SIGTERM and SIGINT make the training loop save a checkpoint and stop (train/control/stop.h); a
// second one exits immediately with code 128 + N. SIGHUP acts like SIGTERM unless it is ignored
// (nohup). SIGUSR1 requests a checkpoint. Before training_begins() there is nothing to save, so the
// first SIGTERM or SIGINT exits immediately, with code 0 if `on_platform`. Signals that
// hold_signals() has kept take effect now. Call once, before the first thread starts.
void install_training_signals(bool on_platform);
void training_begins();

// SIGTERM and SIGINT set train::stop_signal(), which the command polls; a second one exits
// immediately.
void install_polled_signals();

// SIGTERM and SIGINT exit immediately with code 128 + N and print that repeating the command
// continues. For commands whose files are consistent at any time.
void install_resumable_signals();

}  // namespace shoal::app
