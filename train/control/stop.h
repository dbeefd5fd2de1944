#pragma once
// Two flags that signal handlers set: one requests a stop, the other a checkpoint. The training
// loop polls them after each step. The ranks exchange the flags, so all ranks stop or save at the
// same step. All functions may be called from a signal handler.

namespace shoal::train {

// Asks the loop to finish the step, save a checkpoint and stop. From then on, the program waits at
// most 1 s for a reader of its output (limit_output_waits()). Returns false if a stop was already
// requested.
bool request_stop(int signal);  // SIGINT or SIGTERM
void request_checkpoint();

int stop_signal();                  // the first signal received, else 0
const char* stop_name(int signal);  // "SIGINT" or "SIGTERM"
bool take_checkpoint_request();     // true if a checkpoint was requested since the last call

}  // namespace shoal::train
