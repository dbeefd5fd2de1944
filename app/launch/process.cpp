#include "app/launch/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "app/platform/failure.h"
#include "app/platform/signals.h"
#include "base/file/descriptor.h"

namespace shoal::app {
namespace {

constexpr int kHandled[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP};

// Owns strings and a null-terminated array of pointers to them, for execve.
class TextArray {
 public:
  explicit TextArray(std::vector<std::string> texts) : texts_(std::move(texts)) {
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  TextArray(const TextArray&) = delete;
  char** get() { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

TextArray argument_array(const std::filesystem::path& program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program.string());
  return TextArray(std::move(arguments));
}

TextArray environment_array(const dist::Variables& environment) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : environment) texts.push_back(name + "=" + value);
  return TextArray(std::move(texts));
}

std::runtime_error system_failure(const std::string& what) {
  return std::runtime_error(what + ": " + std::strerror(errno));
}

}  // namespace

BlockedSignals::BlockedSignals() {
  ::sigemptyset(&set_);
  ::sigaddset(&set_, SIGCHLD);
  for (int signal : kHandled) {
    // If SIGINT, SIGHUP or SIGTSTP is ignored, it stays so, in the workers too (signals.h).
    const bool may_be_ignored = signal == SIGINT || signal == SIGHUP || signal == SIGTSTP;
    if (may_be_ignored && is_ignored(signal)) continue;
    ::sigaddset(&set_, signal);
  }
  ::sigprocmask(SIG_BLOCK, &set_, &before_);
}

BlockedSignals::~BlockedSignals() {
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void BlockedSignals::restore_in_child() const {
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int BlockedSignals::wait(double seconds) const {
  const auto ns = static_cast<long long>(std::max(seconds, 0.0) * 1e9);
  const timespec timeout{static_cast<time_t>(ns / 1'000'000'000),
                         static_cast<long>(ns % 1'000'000'000)};
  const int signal = ::sigtimedwait(&set_, nullptr, &timeout);
  return signal > 0 ? signal : 0;
}

void BlockedSignals::stop_here() const {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTSTP);
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

ReportToken::ReportToken() {
  if (::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0 || ::write(ends_[1], "1", 1) != 1) {
    throw system_failure("cannot create a pipe for the workers");
  }
}

ReportToken::~ReportToken() {
  ::close(ends_[0]);
  ::close(ends_[1]);
}

void ReportToken::add_to(dist::Variables& environment) const {
  environment[kReportVariable] = std::to_string(ends_[0]);
}

void ReportToken::keep_in_child() const {
  ::fcntl(ends_[0], F_SETFD, 0);
}

// If exec fails, the child sends errno through a pipe; a successful exec closes the pipe.
pid_t start_process(const Launch& plan, const WorkerStart& worker, const BlockedSignals& signals,
                    const ReportToken& token) {
  TextArray arguments = argument_array(plan.program, plan.arguments);
  dist::Variables variables = worker.environment;
  token.add_to(variables);
  TextArray environment = environment_array(variables);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0)
    throw system_failure("cannot create a pipe to start " + worker.name);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(kFailure);  // the parent died before prctl
    signals.restore_in_child();
    ::signal(SIGTTOU, SIG_IGN);  // `stty tostop` must not stop a worker, which is in the background
    token.keep_in_child();
    ::execve(plan.program.c_str(), arguments.get(), environment.get());
    const int error = errno;
    if (::write(report[1], &error, sizeof error) < 0) ::_exit(127);
    ::_exit(127);
  }
  const int fork_error = errno;
  ::close(report[1]);
  int error = pid < 0 ? fork_error : 0;
  if (pid > 0) {
    ::setpgid(pid, pid);
    if (read_some(report[0], &error, sizeof error) <= 0) error = 0;
  }
  ::close(report[0]);
  if (error == 0) return pid;
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  errno = error;
  throw system_failure("cannot start " + plan.program.string() + " for " + worker.name);
}

void become(const std::filesystem::path& program, const std::vector<std::string>& arguments,
            const dist::Variables& environment) {
  TextArray argument_list = argument_array(program, arguments);
  TextArray environment_list = environment_array(environment);
  ::execve(program.c_str(), argument_list.get(), environment_list.get());
  throw system_failure("cannot start " + program.string());
}

}  // namespace shoal::app
