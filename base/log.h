#pragma once
// Messages for people (stderr) and metric lines for programs (stdout).
//
// Passes each line to a single write(2), so that lines of several ranks or threads do not mix.
// Thread-safe. Only log.cpp includes spdlog.

#include <string>

#include "base/text.h"

namespace shoal {

namespace log {

// Sets this process's rank and the lowest level that it prints: debug, info, warning or error.
// Initially rank 0 and info. Ranks above 0 never print debug and info, and begin their messages
// with "[rank N]". Throws std::invalid_argument if `level` is none of the four.
void set_level(const std::string& level, int rank);

// Print one time-stamped line on stderr, with secrets masked (secrets.h) and control characters
// escaped (printable() in text.h), so that a file name cannot look like another message.
void debug(const std::string& text);
void info(const std::string& text);
void warning(const std::string& text);
void error(const std::string& text);
// Print each line of `text` as a separate message.
void info_lines(const std::string& text);
void debug_lines(const std::string& text);

// Prints `text` and a line break on stdout, without time stamp, prefix or buffering. Does not mask
// or escape anything. Prints on every rank, so the caller must check for rank 0.
void line(const std::string& text);

// Start of the message that require_lines_written() throws.
inline constexpr const char* kStdoutFailed = "cannot write to standard output";

// Throws std::runtime_error if line() could not write, for example to a full disk. A closed pipe or
// terminal is not an error, because nobody would read the lines. guarded_main() calls this at the
// end of each command, so that a failed write does not end a run early.
void require_lines_written();

// Shows `text` as the status line (a progress bar) at the bottom of the terminal and redraws it
// below later lines. Does nothing if stderr is not a terminal. An empty text removes the status
// line; do that before the process ends. `text` must be one line without escape sequences. Separate
// its fields by two blanks: if it is too wide for the terminal, the last fields are dropped.
void status(const std::string& text);

// Disables the status line, for terminals that do not support escape sequences (TERM=dumb). Call
// before the first status().
void no_status();

// Whether status() shows a status line on this terminal.
bool has_status();

}  // namespace log
}  // namespace shoal
