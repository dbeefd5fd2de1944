#pragma once
// Signal handlers for training, for commands that poll for a stop, and for commands that continue
// their work when they are repeated.
// Exit codes are 128 + the signal's number; SIGHUP counts as SIGTERM. If SIGINT or SIGHUP is
// ignored when the program starts, it stays ignored: scripts start `shoal train … &` with SIGINT
// ignored, and nohup ignores SIGHUP.

namespace shoal::app {

// Whether this process ignores the signal.
bool is_ignored(int signal);

// Call first in main of shoal and shoal-worker. Blocks SIGTERM, SIGHUP and SIGUSR1: they stay
// pending until install_training_signals() or release_signals(). Programs that this process starts
// or executes inherit the blocked signals. Ignores SIGUSR2. Restores SIGCHLD's default action.
// Makes a write to a closed pipe, or beyond the limit of file sizes, fail (EPIPE, EFBIG) instead of
// ending the program.
void hold_signals();

// While this object exists, SIGTERM, SIGHUP and SIGINT end the process with a message, unless they
// are ignored. Use it while the settings are read, between hold_signals() and the functions below,
// because reading may hang (network storage, a pipe). The exit code is 128 + the signal's number.
// With `trains_on_platform`, the exit code is 0, as with install_training_signals(), because a stop
// on SageMaker is not a failure. Create the object before threads start.
class EndedBySignals {
 public:
  explicit EndedBySignals(bool trains_on_platform);
  ~EndedBySignals();  // blocks the signals that hold_signals() blocks
  EndedBySignals(const EndedBySignals&) = delete;
  EndedBySignals& operator=(const EndedBySignals&) = delete;
};

// For commands other than training. Unblocks SIGTERM, SIGHUP, and also SIGINT, which a parent may
// have blocked. SIGUSR1 stays blocked.
void release_signals();

// Installs handlers. SIGTERM (15) and SIGINT (2) make the training loop save a checkpoint and stop
// (train/control/stop.h). A second signal, at least 1 s after the first, ends the process at once
// with code 128 + that signal's number. SIGHUP acts like a first SIGTERM. SIGUSR1 requests a
// checkpoint. Before training_begins() there is nothing to save, so SIGTERM, SIGINT and SIGHUP end
// the process at once, with code 0 if `on_platform`. Signals pending since hold_signals() take
// effect now. Call once, before the first thread starts.
void install_training_signals(bool on_platform);
void training_begins();

// Makes SIGTERM, SIGINT and SIGHUP set train::stop_signal(), which the command polls. If the
// command has not ended 10 s later, or at another signal at least 1 s after the first, the process
// exits with a message and code 128 + the signal's number.
void install_polled_signals();

// Makes SIGTERM, SIGINT and SIGHUP end the process at once with code 128 + the signal's number. A
// message tells the user to repeat the command, which then continues the work. For commands whose
// files are always consistent.
void install_resumable_signals();

// Like install_resumable_signals(), but the message tells the user to repeat the command for
// complete results. If several processes run the command, call this in only one of them.
void install_interruption_signals();

}  // namespace shoal::app
