#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "base/output.h"
#include "base/secrets.h"

namespace shoal {
namespace {

int write_text(int descriptor, const std::string& text) {
  return write_output(descriptor, text.data(), text.size());
}

// Whether `error`, the errno of a write to stdout, means that the pipe or terminal was closed.
bool nobody_reads(int error) {
  struct stat status {};
  return error == EPIPE ||
         (error == EIO && ::fstat(STDOUT_FILENO, &status) == 0 && S_ISCHR(status.st_mode));
}

// Writes whole lines, and keeps the status line below them at the bottom of the terminal.
class Screen {
 public:
  void print(int file, const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (!status_.empty()) write_text(STDERR_FILENO, kErase);
    const int error = write_text(file, text);
    if (file == STDOUT_FILENO && error != 0 && !nobody_reads(error)) line_error_ = error;
    if (!status_.empty()) write_text(STDERR_FILENO, status_);
  }

  void status(const std::string& text) {
    if (!terminal_) return;
    const std::lock_guard lock(mutex_);
    if (text.empty() && status_.empty()) return;
    status_ = cut(text);
    write_text(STDERR_FILENO, kErase + status_);
  }

  bool terminal() const { return terminal_; }
  void no_status() { terminal_ = false; }

  int line_error() {
    const std::lock_guard lock(mutex_);
    return line_error_;
  }

 private:
  static constexpr const char* kErase = "\r\033[2K";

  // Shortens the text to the terminal's width, because a wrapped line cannot be erased. Cuts
  // between two fields if possible (two blanks separate them). Leaves the last column free: some
  // terminals wrap when it is filled.
  static std::string cut(const std::string& text) {
    winsize size{};
    const size_t width =
        ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1u : 79u;
    size_t columns = 0, bytes = 0;
    while (bytes < text.size()) {
      if (starts_character(text[bytes]) && columns++ == width) break;
      ++bytes;
    }
    if (bytes < text.size()) {
      const size_t field = text.rfind("  ", bytes);
      if (field != text.npos && field > 0) bytes = field;
    }
    return text.substr(0, bytes);
  }

  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::mutex mutex_;
  std::string status_;
  int line_error_ = 0;
};

Screen& screen() {
  static Screen instance;
  return instance;
}

class ScreenSink : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t formatted;
    formatter_->format(message, formatted);
    screen().print(STDERR_FILENO, std::string(formatted.data(), formatted.size()));
  }
  void flush_() override {}
};

struct Logger {
  Logger() : spd("shoal", std::make_shared<ScreenSink>()) { configure("info", 0); }

  void configure(const std::string& level, int rank) {
    spdlog::level::level_enum lowest;
    if (level == "debug") {
      lowest = spdlog::level::debug;
    } else if (level == "info") {
      lowest = spdlog::level::info;
    } else if (level == "warning") {
      lowest = spdlog::level::warn;
    } else if (level == "error") {
      lowest = spdlog::level::err;
    } else {
      throw std::invalid_argument("the log level is '" + level +
                                  "'; it must be debug, info, warning or error");
    }
    if (rank > 0 && lowest < spdlog::level::warn) lowest = spdlog::level::warn;
    spd.set_level(lowest);
    const std::string who = rank > 0 ? "[rank " + std::to_string(rank) + "] " : "";
    spd.set_pattern("%H:%M:%S.%e %l " + who + "%v");
  }

  void print(spdlog::level::level_enum level, const std::string& text) {
    if (!spd.should_log(level)) return;
    const std::string line = printable(masked(text));
    spd.log(level, spdlog::string_view_t(line.data(), line.size()));
  }

  void print_lines(spdlog::level::level_enum level, const std::string& text) {
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      print(level, text.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  spdlog::logger spd;
};

Logger& logger() {
  static Logger instance;
  return instance;
}

}  // namespace

namespace log {

void set_level(const std::string& level, int rank) {
  logger().configure(level, rank);
}
void debug(const std::string& text) {
  logger().print(spdlog::level::debug, text);
}
void info(const std::string& text) {
  logger().print(spdlog::level::info, text);
}
void warning(const std::string& text) {
  logger().print(spdlog::level::warn, text);
}
void error(const std::string& text) {
  logger().print(spdlog::level::err, text);
}
void info_lines(const std::string& text) {
  logger().print_lines(spdlog::level::info, text);
}
void debug_lines(const std::string& text) {
  logger().print_lines(spdlog::level::debug, text);
}
void line(const std::string& text) {
  screen().print(STDOUT_FILENO, text + "\n");
}
void require_lines_written() {
  if (const int error = screen().line_error(); error != 0)
    throw std::runtime_error(std::string(kStdoutFailed) + ": " +
                             std::generic_category().message(error) + "; lines are missing there");
}
void status(const std::string& text) {
  screen().status(text);
}
void no_status() {
  screen().no_status();
}
bool has_status() {
  return screen().terminal();
}

}  // namespace log
}  // namespace shoal
