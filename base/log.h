#pragma once
// Messages for people (stderr) and metric lines for machines (stdout). Torch-free; spdlog is seen
// by log.cpp only.
//
// Both kinds leave the process in one write(2) each, so lines of several ranks or threads never
// mix. Thread-safe.

#include <string>

#include "base/text.h"

namespace shoal {

namespace log {

// What is printed from now on, and by whom. `level`: debug | info | warning | error
// (std::invalid_argument otherwise). debug and info come from rank 0 only; warnings and errors from
// every rank, those of rank > 0 with "[rank N]" in front. Before the first call: level info, rank
// 0.
void set_level(const std::string& level, int rank);

// One time-stamped line on stderr. A line break inside the text starts another line with the same
// stamp.
void debug(const std::string& text);
void info(const std::string& text);
void warning(const std::string& text);
void error(const std::string& text);

// One complete metric line on stdout: no stamp, no prefix, no buffering; the line break is added
// here. Every rank that calls it prints: callers ask for rank 0 themselves.
void line(const std::string& text);

// Throws std::runtime_error when a line could not be written (a full disk, a closed pipe): for
// commands whose output is their result. A training run goes on without a reader.
void require_lines_written();

// Text kept at the bottom of the terminal (a progress bar); the lines above are printed over it and
// it is drawn again. Nothing happens unless stderr is a terminal. An empty text takes it away: do
// that before the process ends. `text` is one line without escape sequences; of what does
// not fit the terminal's width the last fields (parted by two blanks) are left out.
void status(const std::string& text);

// The terminal understands no escape sequences (TERM=dumb). Call before the first status().
void no_status();

// Whether status() shows anything: stderr is a terminal.
bool has_status();

}  // namespace log
}  // namespace shoal
