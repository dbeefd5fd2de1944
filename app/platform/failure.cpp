#include "app/platform/failure.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "app/platform/platform.h"
#include "base/file/descriptor.h"
#include "base/file/whole_file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/output.h"
#include "base/secrets.h"
#include "base/text.h"
#include "data/errors.h"
#include "data/file.h"
#include "train/job/job.h"

namespace shoal::app {
namespace {

// Advice to print for common system errors, by errno.
constexpr std::pair<int, const char*> kAdvice[] = {
    {ENOSPC, "free disk space, or write to another disk"},
    {EFBIG, "raise the limit of file sizes: ulimit -f unlimited"},
    {EACCES, "change its permissions, or choose another path"},
    {EMFILE, "raise the limit of open files: ulimit -n 4096"},
    {EAGAIN, "raise the limit of processes and threads: ulimit -u 4096"}};

bool is_address_space_limited() {
  rlimit space{};
  return ::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
}

constexpr size_t kFailureFileBytes = 1024;  // SageMaker shows at most this many bytes

// Returns the part of a LibTorch message before the source positions and back-trace, as one line.
std::string first_sentence(std::string text) {
  for (const char* mark : {"\nException raised from", "\nC++ CapturedTraceback", "\nFrames:"}) {
    if (const size_t at = text.find(mark); at != text.npos) text.resize(at);
  }
  for (char& c : text) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text.empty() ? "failed without a message" : text;
}

// Returns the message of `error`. Rewords messages of std::filesystem, which name a library
// function instead of the problem.
std::string message_of(const std::exception& error) {
  const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error);
  if (!file || file->path1().empty()) return error.what();
  const std::string other = file->path2().empty() ? "" : " and " + file->path2().string();
  return "cannot use " + file->path1().string() + other + ": " + file->code().message();
}

// Takes the only byte out of the launcher's pipe (kReportVariable). Returns true in the first
// worker that calls this function, and in every process that was not started by shoal's launcher.
bool first_to_report(const Reporting& reporting) {
  if (reporting.token_file < 0) return true;
  char token;
  return read_some(reporting.token_file, &token, 1) != -1 || errno != EAGAIN;
}

// Writes torchrun's error file: {"message": {"message": TEXT, "extraInfo": …}}. Does nothing if
// `path` is empty. Never throws.
void write_error_file(const std::string& path, const std::string& text) noexcept try {
  if (path.empty()) return;
  const nlohmann::json report = {
      {"message",
       {{"message", printable(masked(text))},
        {"extraInfo", {{"py_callstack", ""}, {"timestamp", std::to_string(std::time(nullptr))}}}}}};
  write_whole(path, json_text(report));
} catch (const std::exception&) {
  return;
}

// Reports a user error. Every rank has the same error, so only one rank prints it, without a rank
// number.
int fail_usage(const Reporting& reporting, const std::string& text) {
  write_error_file(reporting.error_file, text);
  if (first_to_report(reporting)) {
    print_error(text);
    write_failure_file(reporting.failure_file, text);
  }
  return kUsage;
}

int fail(const Reporting& reporting, int code, const std::string& text) {
  const std::string line = (text.starts_with("rank ") ? "" : reporting.who) + text;
  print_error(line);
  write_error_file(reporting.error_file, line);
  // A lost connection is a consequence of another process's failure. So in this case, a worker of
  // shoal's launcher leaves the failure file to the process that failed. If no worker writes the
  // file, the launcher does.
  if (code != kPeerLost || reporting.token_file < 0)
    write_failure_file(reporting.failure_file, line);
  return code;
}

}  // namespace

std::string describe(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error)) {
    if (is_address_space_limited())
      return "out of memory: the address space is limited; raise the limit: ulimit -v unlimited";
    return "out of memory; lower --batch-size, --size or --workers, or use a larger machine";
  }
  std::string text = first_sentence(message_of(error));
  if (text.starts_with(log::kStdoutFailed)) return text;
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  for (const auto& [code, advice] : kAdvice) {
    const bool named = text.find(std::generic_category().message(code)) != text.npos;
    if (!named && !(system && system->code().value() == code)) continue;
    // Starting a thread also fails with EAGAIN if its stack does not fit in the address space.
    const bool space = code == EAGAIN && is_address_space_limited();
    return text + "; " + advice + (space ? ", or of the address space: ulimit -v unlimited" : "");
  }
  return text;
}

std::string torch_sentence(const std::string& text) {
  const std::string first = text.substr(0, text.find('\n'));
  if (is_lost_peer(first)) return first;
  for (const char* words : {"can't allocate memory", "out of memory"}) {
    if (text.find(words) != text.npos) return describe(std::bad_alloc());
  }
  for (const char* words : {"CUDA error", "cuDNN error", "cuBLAS", "CUBLAS_STATUS"}) {
    if (first.starts_with(words)) return "the GPU failed: " + first;
  }
  for (const char* words : {"NCCL", "Watchdog", "timed out", "Timed out"}) {
    if (first.find(words) != first.npos) return "communication between processes failed: " + first;
  }
  return "an operation inside LibTorch failed, which is a bug in shoal; repeat the command with "
         "--log-level debug and report LibTorch's message";
}

bool is_lost_peer(const std::string& text) {
  for (const char* words :
       {"Connection closed by peer", "Connection reset by peer", "Connection refused",
        "Broken pipe", "failed to recv, got 0 bytes", "remote process exited", "ncclRemoteError"}) {
    if (text.find(words) != text.npos) return true;
  }
  return false;
}

bool is_lost_peer(const std::exception& error) {
  if (dynamic_cast<const std::system_error*>(&error)) return false;
  if (dynamic_cast<const data::FileFailure*>(&error)) return false;
  const std::string text = message_of(error);
  return !text.starts_with("--") && is_lost_peer(text);
}

Reporting reporting(const dist::Variables& environment) {
  const auto value = [&](const char* name) { return dist::value_of(environment, name); };
  Reporting result;
  result.failure_file = (platform_base(environment) / "output/failure").string();
  if (!value("RANK").empty() && parse_number<int>(value("WORLD_SIZE")).value_or(1) > 1)
    result.who = "rank " + value("RANK") + ": ";
  result.token_file = parse_number<int>(value(kReportVariable)).value_or(-1);
  result.error_file = value("TORCHELASTIC_ERROR_FILE");
  return result;
}

int guarded_main(const Reporting& reporting, const std::function<int()>& body) noexcept {
  try {
    try {
      const int code = body();
      if (code == kOk || code == kFailure) log::require_lines_written();
      return code;
    } catch (const UserError& error) {
      return fail_usage(reporting, describe(error));
    } catch (const std::invalid_argument& error) {
      return fail_usage(reporting, describe(error));
    } catch (const SetupMissing& error) {
      return fail(reporting, kSetupMissing, describe(error));
    } catch (const data::MissingLibrary& error) {
      return fail(reporting, kSetupMissing, describe(error));
    } catch (const std::exception& error) {
      return fail(reporting, is_lost_peer(error) ? kPeerLost : kFailure, describe(error));
    } catch (...) {
      return fail(reporting, kFailure,
                  "an exception of unknown type ended the program; please report it");
    }
  } catch (...) {  // no memory for the message
    constexpr char kLast[] = "shoal: error: out of memory while reporting an error\n";
    limit_output_waits();
    write_output(STDERR_FILENO, kLast, sizeof kLast - 1);
    return kFailure;
  }
}

void fail_now(const Reporting& reporting, int code, const std::string& text) noexcept {
  limit_output_waits();  // otherwise a thread blocked in a write would keep the log's lock
  log::status("");
  write_failure_file(reporting.failure_file, text);  // even for kPeerLost: `text` names the cause
  fail(reporting, code, text);
  ::_exit(code);
}

void print_error(const std::string& text) noexcept try {
  limit_output_waits();
  const std::string line = "shoal: error: " + printable(masked(text)) + "\n";
  write_output(STDERR_FILENO, line.data(), line.size());
} catch (const std::exception&) {
  write_output(STDERR_FILENO, text.data(), text.size());  // no memory for the prefix
}

void write_failure_file(const std::string& path, const std::string& text, bool replace) noexcept
    try {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  if (fs::is_directory(folder.parent_path() / "input/config", error))
    fs::create_directories(folder, error);  // a container may lack the folder
  const int flags = O_WRONLY | O_CREAT | (replace ? O_TRUNC : O_EXCL);
  const Descriptor file = open_file(path.c_str(), flags, 0644);
  if (!file.is_open()) return;  // not in a SageMaker container, or already written
  // Does not use write_whole(): even without `replace`, it would replace the message of an earlier
  // process, and on a full disk it would write nothing, but half a message is better than none.
  const std::string shown = printable(masked(text));
  std::string cut = shown.substr(0, kFailureFileBytes);
  // Do not cut inside a UTF-8 character.
  while (cut.size() < shown.size() && !cut.empty() && !starts_character(shown[cut.size()]))
    cut.pop_back();
  write_all(file.number(), cut.data(), cut.size());
} catch (const std::exception&) {
  return;  // the callers also print the message on stderr
}

void clear_failure_file(const std::string& path) noexcept try {
  ::unlink(path.c_str());
} catch (const std::exception&) {
  return;
}

}  // namespace shoal::app
