#pragma once
// Two flags that signal handlers raise and the loop polls between steps, so that everything they
// ask for happens at a step boundary, on every rank together. The functions may be called from a
// signal handler.

namespace shoal::train {

// Asks for: finish the step, save, leave. False when that was asked for before.
bool request_stop(int signal);  // SIGINT or SIGTERM
void request_checkpoint();

int stop_signal();               // 0, or the first signal that came
bool take_checkpoint_request();  // true once after each request

}  // namespace shoal::train
