#pragma once
// Every way a program of ours can end badly: one line on stderr, an exit code, and the platform's
// failure file.

#include <functional>
#include <stdexcept>
#include <string>

#include "dist/env/env.h"

namespace shoal::app {

// Exit codes, the same in both executables; `shoal help` prints them.
inline constexpr int kOk = 0;
inline constexpr int kFailure = 1;        // the world's: I/O, memory, network; resumable
inline constexpr int kUsage = 2;          // the user's: unknown option, bad value, missing data
inline constexpr int kSetupMissing = 3;   // something needed is not installed or not built
inline constexpr int kPeerLost = 4;       // only lost a process that failed first; resumable
inline constexpr int kInterrupted = 130;  // stopped by SIGINT after saving; resumable
inline constexpr int kTerminated = 143;   // stopped by SIGTERM after saving; resumable

// Where the launcher tells its workers a pipe with one byte in it: of several workers that end with
// kUsage, only the one that takes the byte prints the sentence.
inline constexpr const char* kReportVariable = "SHOAL_REPORT_FD";

// A program, library or device that must be installed first. Exit code 3.
struct SetupMissing : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// How this process reports its end; from its environment, read once.
struct Reporting {
  // BASE/output/failure, where BASE is SAGEMAKER_BASE_DIR or /opt/ml: what tells SageMaker why a
  // job failed.
  std::string failure_file = "/opt/ml/output/failure";
  std::string who;         // "rank 3: " in one of several workers, else empty
  int token_file = -1;     // the launcher's pipe (kReportVariable); -1: no launcher of ours
  std::string error_file;  // torchrun's TORCHELASTIC_ERROR_FILE, from which it tells why; or empty
};
Reporting reporting(const dist::Variables& environment);

// Runs `body` and returns its exit code. An exception becomes one line on stderr, "shoal: error:
// …", the failure file (not for kPeerLost under our launcher, which knows the cause), and an exit
// code:
//
//   kUsage          UserError, std::invalid_argument
//   kSetupMissing   SetupMissing, data::MissingLibrary
//   kPeerLost       a lost connection (is_lost_peer)
//   kFailure        anything else
//
// Never throws; the caller returns the code from main.
int guarded_main(const Reporting& reporting, const std::function<int()>& body) noexcept;

// The one line for people that stands for `error`: LibTorch's back-trace and line breaks are gone,
// out of memory and a full disk say what to do.
std::string describe(const std::exception& error);

// The sentence for people that replaces `text`, a message of LibTorch's. Lost peers, out of memory and
// failures of a GPU keep their meaning; everything else is about LibTorch's internals and is left out.
std::string torch_sentence(const std::string& text);

// Whether a message only says that another process went away, so that the real failure stands
// elsewhere. It knows the words of Gloo, NCCL, TCPStore and the system.
bool is_lost_peer(const std::string& text);

// Prints "shoal: error: TEXT" as one line on stderr, in one write.
void print_error(const std::string& text) noexcept;

// Writes the failure file, where its folder exists or a training container needs it: at most 1024
// characters, and the first text of several processes is kept. `replace` is for the launcher, which
// knows that a worker died without a word. Never throws.
void write_failure_file(const std::string& path, const std::string& text,
                        bool replace = false) noexcept;

// Writes torchrun's error file: {"message": {"message": TEXT, "extraInfo": …}}. Never throws.
void write_error_file(const std::string& path, const std::string& text) noexcept;

// Takes away a failure file left by an earlier run. Only the first process of a host does it,
// before it starts others.
void clear_failure_file(const std::string& path) noexcept;

}  // namespace shoal::app
