// A single thread loops: it sleeps in sigtimedwait until a signal arrives or a deadline passes,
// then reaps children and reacts. The signals stay blocked, so none is lost between a check and the
// sleep.
//
// Finding the worker that failed first: if a worker dies, its peers fail within milliseconds
// ("connection closed") and may be reaped before it. So the launcher waits a short time after the
// first failure and then picks a worker by its exit: first one killed by a signal, then one with
// another exit code, last one with kPeerLost, which means that it only lost a connection.
#include "app/launch/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "app/platform/failure.h"
#include "base/log.h"

namespace shoal::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kHandled[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP};

// A null-terminated char* array for execve that owns its strings.
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

// While the object exists, the signals that the loop waits for are blocked.
class BlockedSignals {
 public:
  BlockedSignals() {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, SIGCHLD);
    for (int signal : kHandled) {
      struct sigaction action {};
      // nohup makes SIGHUP ignored. Workers must ignore it too.
      const bool may_be_ignored = signal == SIGHUP || signal == SIGTSTP;
      if (may_be_ignored && ::sigaction(signal, nullptr, &action) == 0 &&
          action.sa_handler == SIG_IGN)
        continue;
      ::sigaddset(&set_, signal);
    }
    ::sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  ~BlockedSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;

  void restore_in_child() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

  // Returns the next signal, or 0 after `seconds` without one.
  int wait(double seconds) const {
    const auto ns = static_cast<long long>(std::max(seconds, 0.0) * 1e9);
    const timespec timeout{static_cast<time_t>(ns / 1'000'000'000),
                           static_cast<long>(ns % 1'000'000'000)};
    const int signal = ::sigtimedwait(&set_, nullptr, &timeout);
    return signal > 0 ? signal : 0;
  }

  // Stops this process, as Ctrl-Z does, until SIGCONT. Returns at once if no shell could continue
  // it, because the system then ignores the signal.
  void stop_here() const {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTSTP);
    ::raise(SIGTSTP);
    ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
  }

 private:
  sigset_t set_{}, before_{};
};

struct Worker {
  std::string name;
  pid_t pid = -1;
  bool running = false;
  int status = 0;  // from waitpid
};

// A pipe with one byte. A user error occurs in all workers; only the worker that reads the byte
// reports it (platform/failure.h). Non-blocking, so that the others do not wait for a byte.
class ReportToken {
 public:
  ReportToken() {
    if (::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0 || ::write(ends_[1], "1", 1) != 1) {
      throw system_failure("cannot create a pipe for the workers");
    }
  }
  ~ReportToken() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  ReportToken(const ReportToken&) = delete;

  void add_to(dist::Variables& environment) const {
    environment[kReportVariable] = std::to_string(ends_[0]);
  }
  void keep_in_child() const { ::fcntl(ends_[0], F_SETFD, 0); }

 private:
  int ends_[2];
};

// Starts one worker. If exec fails, the child sends errno through a pipe; a successful exec closes
// the pipe.
pid_t start(const Launch& plan, const WorkerStart& worker, const BlockedSignals& signals,
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
    if (::read(report[0], &error, sizeof error) <= 0) error = 0;
  }
  ::close(report[0]);
  if (error == 0) return pid;
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  errno = error;
  throw system_failure("cannot start " + plan.program.string() + " for " + worker.name);
}

std::string signal_text(int signal) {
  const char* name = ::sigabbrev_np(signal);
  std::string text = "was killed by signal " + std::to_string(signal) +
                     (name ? std::string(" (SIG") + name + ")" : "");
  if (signal == SIGKILL)
    text +=
        ", often because the system ran out of memory; lower --batch-size or --workers, then "
        "continue with --resume";
  if (signal == SIGBUS) text += ", often because /dev/shm or a disk is full";
  return text;
}

class Watch {
 public:
  Watch(const Launch& plan, const BlockedSignals& signals) : plan_(plan), signals_(signals) {}

  ~Watch() {  // workers run here only after an exception
    send(SIGKILL);
    for (Worker& worker : workers_) {
      if (worker.running) ::waitpid(worker.pid, nullptr, 0);
    }
  }

  void start_all() {
    for (const WorkerStart& start_of : plan_.workers) {
      workers_.push_back({start_of.name, start(plan_, start_of, signals_, token_), true});
    }
  }

  int run() {
    while (reap() > 0 && !given_up_) {
      if (const int signal = signals_.wait(next_wait()); signal > 0 && signal != SIGCHLD)
        forward(signal);
      advance();
    }
    if (failed_) name_culprit();
    return code();
  }

 private:
  enum class Phase { running, finding_culprit, ending, killed };

  static double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  static int code_of(const Worker& worker) {
    return WIFSIGNALED(worker.status) ? 128 + WTERMSIG(worker.status) : WEXITSTATUS(worker.status);
  }

  // Whether the worker stopped on request: it returned the exit code of a stop, or the forwarded
  // signal killed it before it installed a handler.
  bool stopped(const Worker& worker) const {
    if (WIFSIGNALED(worker.status))
      return stop_signal_ != 0 && WTERMSIG(worker.status) == stop_signal_;
    return code_of(worker) == kInterrupted || code_of(worker) == kTerminated;
  }

  void send(int signal) {
    for (const Worker& worker : workers_) {
      if (worker.running) ::kill(signal == SIGKILL ? -worker.pid : worker.pid, signal);
    }
  }

  void forward(int signal) {
    if (signal == SIGTSTP) {  // the terminal sends it only to this process's group
      send(SIGSTOP);
      signals_.stop_here();
      return send(SIGCONT);
    }
    const bool stops = signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
    if (stops && stop_signal_ == 0) {
      stop_signal_ = signal;
      if (phase_ == Phase::running) phase_start_ = Clock::now();
    }
    send(signal);
    if (stops) send(SIGCONT);  // a stopped worker would not notice the signal
  }

  // Returns the number of workers still running.
  int reap() {
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
      for (Worker& worker : workers_) {
        if (worker.pid != pid || !worker.running) continue;
        if (WIFSTOPPED(status)) {
          log::warning(worker.name + " on " + plan_.host + " was stopped by signal " +
                       std::to_string(WSTOPSIG(status)) + "; continue it with `kill -CONT " +
                       std::to_string(pid) + "`");
          continue;
        }
        worker.running = false;
        worker.status = status;
        const bool failed = code_of(worker) != 0 && !stopped(worker) && phase_ != Phase::ending &&
                            phase_ != Phase::killed;
        if (failed && !failed_) {
          failed_ = true;
          phase_ = Phase::finding_culprit;
          phase_start_ = Clock::now();
        }
        if (failed) candidates_.push_back(&worker - workers_.data());
      }
    }
    int running = 0;
    for (const Worker& worker : workers_) running += worker.running;
    return running;
  }

  bool only_lost_peers() const {
    for (const size_t i : candidates_) {
      if (code_of(workers_[i]) != kPeerLost) return false;
    }
    return true;
  }

  double phase_seconds() const {
    if (phase_ == Phase::finding_culprit)
      return only_lost_peers() ? plan_.lost_peer_seconds : plan_.culprit_seconds;
    if (phase_ == Phase::running) return stop_signal_ != 0 ? plan_.stop_seconds : 3600;
    return plan_.grace_seconds;
  }

  double next_wait() const {
    return phase_seconds() -
           (phase_ == Phase::running && stop_signal_ == 0 ? 0 : since(phase_start_));
  }

  void advance() {
    if (phase_ == Phase::running && stop_signal_ == 0) return;
    if (since(phase_start_) < phase_seconds()) return;
    if (phase_ == Phase::running) {
      print_error(running_names() + " did not end within " +
                  std::to_string(std::lround(plan_.stop_seconds)) +
                  " s after the stop signal; killing it");
      phase_ = Phase::killed;
      send(SIGKILL);
    } else if (phase_ == Phase::finding_culprit) {
      reap();  // the worker that failed first may have exited just now
      phase_ = Phase::ending;
      name_culprit();
      send(SIGTERM);
    } else if (phase_ == Phase::ending) {
      phase_ = Phase::killed;
      send(SIGKILL);
    } else {
      print_error(running_names() +
                  " does not end even after SIGKILL, probably because storage hangs; left behind");
      for (Worker& worker : workers_)
        if (std::exchange(worker.running, false)) worker.status = SIGKILL;
      given_up_ = true;
    }
    phase_start_ = Clock::now();
  }

  // Returns "rank 0, rank 3".
  std::string running_names() const {
    std::string names;
    for (const Worker& worker : workers_)
      if (worker.running) names += (names.empty() ? "" : ", ") + worker.name;
    return names;
  }

  void name_culprit() {
    if (culprit_) return;
    const auto rank_of_evidence = [](const Worker& worker) {
      return WIFSIGNALED(worker.status) ? 0 : code_of(worker) == kPeerLost ? 2 : 1;
    };
    for (const size_t i : candidates_) {
      if (!culprit_ || rank_of_evidence(workers_[i]) < rank_of_evidence(workers_[*culprit_]))
        culprit_ = i;
    }
    const Worker& worker = workers_[*culprit_];
    if (code_of(worker) == kUsage) return;  // a worker has reported the user error
    const bool silent = WIFSIGNALED(worker.status);
    std::string text = worker.name + " on " + plan_.host + " (process " +
                       std::to_string(worker.pid) + ") " +
                       (silent ? signal_text(WTERMSIG(worker.status))
                               : "failed with exit code " + std::to_string(code_of(worker)) +
                                     "; see its message above");
    print_error(text + (workers_.size() > 1 ? "; stopping the other processes of this host" : ""));
    // If a signal killed the worker, the file contains at most a peer's message about a lost
    // connection.
    write_failure_file(plan_.failure_file, text, silent);
  }

  int code() const {
    if (culprit_) return code_of(workers_[*culprit_]);
    int result = 0;
    for (const Worker& worker : workers_) {
      const bool early = plan_.early_stop_is_fine && WIFSIGNALED(worker.status) && stopped(worker);
      if (result == 0 && !early) result = code_of(worker);
    }
    return result;
  }

  const Launch& plan_;
  const BlockedSignals& signals_;
  ReportToken token_;
  std::vector<Worker> workers_;
  // Indices of the workers that failed before the launcher stopped the others, in the order of
  // reaping.
  std::vector<size_t> candidates_;
  std::optional<size_t> culprit_;
  Phase phase_ = Phase::running;
  Clock::time_point phase_start_;
  bool failed_ = false;
  bool given_up_ = false;  // workers are left that SIGKILL does not end
  int stop_signal_ = 0;
};

}  // namespace

int launch(const Launch& plan) {
  const BlockedSignals signals;
  Watch watch(plan, signals);
  watch.start_all();
  return watch.run();
}

void become(const std::filesystem::path& program, const std::vector<std::string>& arguments,
            const dist::Variables& environment) {
  TextArray argument_list = argument_array(program, arguments);
  TextArray environment_list = environment_array(environment);
  ::execve(program.c_str(), argument_list.get(), environment_list.get());
  throw system_failure("cannot start " + program.string());
}

}  // namespace shoal::app
