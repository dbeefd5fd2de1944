#pragma once
// Error reporting of all programs: one line on stderr, an exit code, and SageMaker's failure file.

#include <functional>
#include <stdexcept>
#include <string>

#include "dist/env/env.h"

namespace shoal::app {

// Exit codes of all programs; `shoal help` prints them.
inline constexpr int kOk = 0;
inline constexpr int kFailure = 1;        // failure, such as I/O, memory or network; resumable
inline constexpr int kUsage = 2;          // user error: unknown option, bad value, missing data
inline constexpr int kSetupMissing = 3;   // a program or library is missing
inline constexpr int kPeerLost = 4;       // lost the connection to a process that failed; resumable
inline constexpr int kInterrupted = 130;  // stopped by SIGINT after saving; resumable
inline constexpr int kTerminated = 143;   // stopped by SIGTERM after saving; resumable

// Environment variable with a file descriptor: the read end of a pipe that the launcher created and
// that contains one byte. If several workers exit with kUsage, only the worker that reads the byte
// prints the message.
inline constexpr const char* kReportVariable = "SHOAL_REPORT_FD";

// Thrown if a program or library must be installed first. Exit code: kSetupMissing.
struct SetupMissing : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Where and how this process reports a failure.
struct Reporting {
  // BASE/output/failure, where BASE is SAGEMAKER_BASE_DIR or /opt/ml. SageMaker shows its text as
  // the failure reason of the job.
  std::string failure_file = "/opt/ml/output/failure";
  std::string who;      // prefix of messages: "rank 3: " if there are several workers, else empty
  int token_file = -1;  // descriptor in kReportVariable; -1: not started by the launcher
  std::string error_file;  // TORCHELASTIC_ERROR_FILE, for torchrun; may be empty
};
// Reads the settings from the environment.
Reporting reporting(const dist::Variables& environment);

// Runs `body` and returns the exit code, which main must return. If `body` throws, prints one line
// on stderr ("shoal: error: ..."), writes the failure file and torchrun's error file, and returns
// the code below. If `body` returns kOk or kFailure but a line could not be written to stdout,
// reports that as an error. For kPeerLost, a worker of shoal's launcher does not write the failure
// file: the process that failed writes it, or else the launcher.
//
//   kUsage          UserError, std::invalid_argument
//   kSetupMissing   SetupMissing, data::MissingLibrary
//   kPeerLost       a lost connection (is_lost_peer)
//   kFailure        anything else
int guarded_main(const Reporting& reporting, const std::function<int()>& body) noexcept;

// Prints `text` on stderr, writes it to the failure file and torchrun's error file, and ends the
// process at once with `code`. Runs no destructors, because other threads may hang. Thread-safe.
[[noreturn]] void fail_now(const Reporting& reporting, int code, const std::string& text) noexcept;

// Returns the error message as one line, without LibTorch's back-trace. Adds advice if memory ran
// out, the disk is full, permission was denied, or a limit of files or processes was reached.
std::string describe(const std::exception& error);

// Replaces a LibTorch message with a sentence for users. Recognizes lost connections, lack of
// memory, GPU failures and communication failures; other messages become one generic sentence.
std::string torch_sentence(const std::string& text);

// Whether the message only reports a lost connection to another process, which is a consequence of
// that process's failure. Recognizes the messages of Gloo, NCCL, TCPStore and the operating system.
bool is_lost_peer(const std::string& text);
// Like is_lost_peer(text), but false for errors of files and downloads, because they do not concern
// connections between ranks.
bool is_lost_peer(const std::exception& error);

// Prints "shoal: error: TEXT" as one line on stderr, in one write. Masks secrets and escapes
// control characters, as write_failure_file() does.
void print_error(const std::string& text) noexcept;

// Writes at most 1024 bytes to the failure file, if its folder exists or this is a training
// container. Keeps an existing file, because the first failure matters, unless `replace` is set.
// The launcher sets `replace` if a signal killed a worker. Never throws.
void write_failure_file(const std::string& path, const std::string& text,
                        bool replace = false) noexcept;

// Removes the failure file of an earlier run. Call only in the first process of a host, before that
// process starts others.
void clear_failure_file(const std::string& path) noexcept;

}  // namespace shoal::app
