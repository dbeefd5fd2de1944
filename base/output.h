#pragma once
// Writes text to stdout and stderr.

#include <cstddef>

namespace shoal {

// Writes all bytes to `descriptor`, STDOUT_FILENO or STDERR_FILENO. Waits while nobody reads from a
// full pipe or terminal. After limit_output_waits(), waits at most one second, then drops this text
// and all later text for the descriptor. Returns 0 (also if text was dropped) or errno. May be
// called by any thread and by signal handlers.
int write_output(int descriptor, const char* text, size_t size) noexcept;

// Limits the waits of write_output() from now on. Call when the program must end soon, even if
// nobody reads its output. May be called by any thread and by signal handlers.
void limit_output_waits() noexcept;

}  // namespace shoal
