#pragma once
// How both programs fail: one line on stderr, an exit code, and the platform's failure file.

#include <functional>
#include <stdexcept>
#include <string>

#include "dist/env/env.h"

namespace shoal::app {

// Exit codes of both executables; `shoal help` prints them.
inline constexpr int kOk = 0;
inline constexpr int kFailure = 1;       // environment: I/O, memory, network; resumable
inline constexpr int kUsage = 2;         // user error: unknown option, bad value, missing data
inline constexpr int kSetupMissing = 3;  // something needed is not installed or not built
inline constexpr int kPeerLost =
    4;  // lost the connection to a process that failed first; resumable
inline constexpr int kInterrupted = 130;  // stopped by SIGINT after saving; resumable
inline constexpr int kTerminated = 143;   // stopped by SIGTERM after saving; resumable

// Variable with the file descriptor of the launcher's pipe, which holds one byte. Of several workers
// that exit with kUsage, only the one that reads the byte prints the message.
inline constexpr const char* kReportVariable = "SHOAL_REPORT_FD";

// A program, library or device that must be installed first. Exit code 3.
struct SetupMissing : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Where and how this process reports a failure. Read once from its environment.
struct Reporting {
  // BASE/output/failure, where BASE is SAGEMAKER_BASE_DIR or /opt/ml. SageMaker shows its text as the
  // reason of a failed job.
  std::string failure_file = "/opt/ml/output/failure";
  std::string who;         // "rank 3: " for one of several workers, else empty
  int token_file = -1;     // the launcher's pipe (kReportVariable); -1: not started by our launcher
  std::string error_file;  // TORCHELASTIC_ERROR_FILE, which torchrun reads; or empty
};
Reporting reporting(const dist::Variables& environment);

// Runs `body` and returns its exit code. An exception becomes one line on stderr ("shoal: error: …"),
// the failure file (not for kPeerLost under our launcher, which knows the cause), and an exit code:
//
//   kUsage          UserError, std::invalid_argument
//   kSetupMissing   SetupMissing, data::MissingLibrary
//   kPeerLost       a lost connection (is_lost_peer)
//   kFailure        anything else
//
// Never throws; the caller returns the code from main.
int guarded_main(const Reporting& reporting, const std::function<int()>& body) noexcept;

// One line for users: without LibTorch's back-trace and line breaks, and with advice for out of memory
// and a full disk.
std::string describe(const std::exception& error);

// Replaces a LibTorch message with a sentence for users. Lost peers, out of memory and GPU failures keep
// their meaning; everything else concerns LibTorch's internals and is omitted.
std::string torch_sentence(const std::string& text);

// Whether the message only reports a lost connection to another process, which is not the cause. Knows
// the texts of Gloo, NCCL, TCPStore and the operating system.
bool is_lost_peer(const std::string& text);

// Prints "shoal: error: TEXT" as one line on stderr, in one write.
void print_error(const std::string& text) noexcept;

// Writes at most 1024 bytes to the failure file, if its folder exists or this is a training container.
// Keeps an existing file, so the first process wins; `replace` overwrites it (for the launcher, when a
// worker died silently). Never throws.
void write_failure_file(const std::string& path, const std::string& text,
                        bool replace = false) noexcept;

// Writes torchrun's error file: {"message": {"message": TEXT, "extraInfo": …}}. Never throws.
void write_error_file(const std::string& path, const std::string& text) noexcept;

// Removes the failure file of an earlier run. Call only in the first process of a host, before it
// starts others.
void clear_failure_file(const std::string& path) noexcept;

}  // namespace shoal::app
