// One thread, one loop: it sleeps in sigtimedwait until a signal comes or a deadline passes, then
// reaps and acts. All signals of interest are blocked, so nothing can be missed between a check and
// the sleep.
//
// Which worker failed first? When one dies, its peers fail within milliseconds ("connection
// closed") and may be reaped before it. So nothing is named until a short time after the first
// failure; then a signal outranks an exit code, and an exit code outranks kPeerLost, the code of a
// worker that says it only lost a peer.
#include "app/launch/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "app/platform/failure.h"

namespace shoal::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kForwarded[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};

// char* arrays as execve wants them, owning their texts.
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

// The signals the loop waits for; blocked while it lives.
class BlockedSignals {
 public:
  BlockedSignals() {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, SIGCHLD);
    for (int signal : kForwarded) {
      struct sigaction action {};
      // nohup: what the parent ignores, its workers go on ignoring.
      if (signal == SIGHUP && ::sigaction(signal, nullptr, &action) == 0 &&
          action.sa_handler == SIG_IGN)
        continue;
      ::sigaddset(&set_, signal);
    }
    ::sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  ~BlockedSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;

  void restore_in_child() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

  // The next signal, or 0 when `seconds` passed without one.
  int wait(double seconds) const {
    const auto ns = static_cast<long long>(std::max(seconds, 0.0) * 1e9);
    const timespec timeout{static_cast<time_t>(ns / 1'000'000'000),
                           static_cast<long>(ns % 1'000'000'000)};
    const int signal = ::sigtimedwait(&set_, nullptr, &timeout);
    return signal > 0 ? signal : 0;
  }

 private:
  sigset_t set_{}, before_{};
};

struct Worker {
  std::string name;
  pid_t pid = -1;
  bool running = false;
  int status = 0;  // of waitpid
};

// All workers make the same mistake of the user's at the same time; the one that takes the byte
// from this pipe says so (failure.h). Non-blocking: the others find it empty.
class ReportToken {
 public:
  ReportToken() {
    if (::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0 || ::write(ends_[1], "1", 1) != 1) {
      throw system_failure("cannot make a pipe for the workers");
    }
  }
  ~ReportToken() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  ReportToken(const ReportToken&) = delete;

  void name_it(dist::Variables& environment) const {
    environment[kReportVariable] = std::to_string(ends_[0]);
  }
  void keep_in_child() const { ::fcntl(ends_[0], F_SETFD, 0); }

 private:
  int ends_[2];
};

// Starts one worker. The exec's failure comes back through a pipe that a successful exec closes.
pid_t start(const Launch& plan, const WorkerStart& worker, const BlockedSignals& signals,
            const ReportToken& token) {
  TextArray arguments = argument_array(plan.program, plan.arguments);
  dist::Variables variables = worker.environment;
  token.name_it(variables);
  TextArray environment = environment_array(variables);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0)
    throw system_failure("cannot make a pipe to start " + worker.name);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(kFailure);  // it died before the line above
    signals.restore_in_child();
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
  std::string text = "was ended by signal " + std::to_string(signal) +
                     (name ? std::string(" (SIG") + name + ")" : "");
  if (signal == SIGKILL)
    text +=
        ", which is often the system out of memory: lower --batch-size or --workers (training "
        "goes on with --resume)";
  if (signal == SIGBUS) text += ", which is often a full /dev/shm or disk";
  return text;
}

class Watch {
 public:
  Watch(const Launch& plan, const BlockedSignals& signals) : plan_(plan), signals_(signals) {}

  ~Watch() {  // only after an exception are there any left
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
    while (reap() > 0) {
      if (const int signal = signals_.wait(next_wait()); signal > 0 && signal != SIGCHLD)
        pass_on(signal);
      advance();
    }
    if (failed_) name_culprit();
    return code();
  }

 private:
  enum class Phase { running, settling, ending, killed };

  static double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  static int code_of(const Worker& worker) {
    return WIFSIGNALED(worker.status) ? 128 + WTERMSIG(worker.status) : WEXITSTATUS(worker.status);
  }

  // A stop that was asked for is no failure: by its exit code, or ended by the very signal before
  // its handler stood.
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

  void pass_on(int signal) {
    if (stop_signal_ == 0 && (signal == SIGTERM || signal == SIGINT || signal == SIGHUP))
      stop_signal_ = signal;
    send(signal);
  }

  // Returns how many workers are left.
  int reap() {
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      for (Worker& worker : workers_) {
        if (worker.pid != pid || !worker.running) continue;
        worker.running = false;
        worker.status = status;
        const bool failed = code_of(worker) != 0 && !stopped(worker) && phase_ != Phase::ending &&
                            phase_ != Phase::killed;
        if (failed && !failed_) {
          failed_ = true;
          phase_ = Phase::settling;
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
    if (phase_ == Phase::settling)
      return only_lost_peers() ? plan_.lost_peer_seconds : plan_.settle_seconds;
    return phase_ == Phase::ending ? plan_.grace_seconds : 3600;
  }

  double next_wait() const {
    return phase_seconds() - (phase_ == Phase::running ? 0 : since(phase_start_));
  }

  void advance() {
    if (phase_ == Phase::running || since(phase_start_) < phase_seconds()) return;
    if (phase_ == Phase::settling) {
      reap();  // whoever ended until now may be the culprit
      phase_ = Phase::ending;
      name_culprit();
      send(SIGTERM);
    } else if (phase_ == Phase::ending) {
      phase_ = Phase::killed;
      send(SIGKILL);
    }
    phase_start_ = Clock::now();
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
    if (code_of(worker) == kUsage) return;  // a worker has named the mistake; its rank says nothing
    const bool silent = WIFSIGNALED(worker.status);
    std::string text = worker.name + " on " + plan_.host + " (process " +
                       std::to_string(worker.pid) + ") " +
                       (silent ? signal_text(WTERMSIG(worker.status))
                               : "failed with exit code " + std::to_string(code_of(worker)) +
                                     "; its message stands above");
    print_error(text + (workers_.size() > 1 ? "; the other processes of this host are ended" : ""));
    // What the others wrote is only that they lost this one.
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
  // Workers that failed before the others were told to end, in order.
  std::vector<size_t> candidates_;
  std::optional<size_t> culprit_;
  Phase phase_ = Phase::running;
  Clock::time_point phase_start_;
  bool failed_ = false;
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
