#pragma once
// Signals become flags that the loop polls between steps.
//
// SIGTERM and SIGINT ask for a stop: finish the step, save, leave. A second one leaves at once.
// SIGUSR1 asks for a checkpoint. Handlers only store; everything else happens at the next step
// boundary, on every rank together.

namespace shoal::train {

void install_stop_handlers();
int stop_signal();               // 0, SIGINT or SIGTERM: the first that came
bool take_checkpoint_request();  // true once after each SIGUSR1

}  // namespace shoal::train
