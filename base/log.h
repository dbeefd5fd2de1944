#pragma once
// Messages for people (stderr) and metric lines for programs (stdout).
//
// Each line is written by one write(2), so lines of several ranks or threads never mix.
// Thread-safe. Only log.cpp includes spdlog.

#include <string>

#include "base/text.h"

namespace shoal {

namespace log {

// Sets the lowest level that is printed, and this process's rank. `level`: debug, info, warning or
// error. Only rank 0 prints debug and info. Every rank prints warnings and errors, ranks above 0
// with the prefix "[rank N]". Default: level info, rank 0. Throws std::invalid_argument for any
// other level.
void set_level(const std::string& level, int rank);

// Each prints one time-stamped line on stderr. Masks secrets (secrets.h) and escapes control
// characters (printable() in text.h), so that a file name cannot imitate another message.
void debug(const std::string& text);
void info(const std::string& text);
void warning(const std::string& text);
void error(const std::string& text);
// Print each line of `text` as a separate message.
void info_lines(const std::string& text);
void debug_lines(const std::string& text);

// Prints one metric line on stdout, without time stamp, prefix or buffering. Adds the line break.
// Prints on every rank: callers check for rank 0.
void line(const std::string& text);

// Begins the message of require_lines_written().
inline constexpr const char* kStdoutFailed = "cannot write to standard output";

// Throws std::runtime_error if a line could not be written, for example because of a full disk. A
// closed pipe or terminal is not an error, because nobody reads the lines. Called at the end of
// every command, so that a failed write does not end a run early.
void require_lines_written();

// Shows `text` as the status line (a progress bar) at the bottom of the terminal and redraws it
// below later lines. Does nothing if stderr is not a terminal. An empty text removes the status
// line; do that before the process ends. `text` must be one line without escape sequences. If it is
// too wide for the terminal, its last fields (separated by two blanks) are dropped.
void status(const std::string& text);

// Disables the status line, for terminals without escape sequences (TERM=dumb). Call before the
// first status().
void no_status();

// Whether status() shows a status line on this terminal.
bool has_status();

}  // namespace log
}  // namespace shoal
