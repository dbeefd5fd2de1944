// A single thread loops: it sleeps in sigtimedwait until a signal arrives or a deadline passes,
// then reaps children and reacts. The signals stay blocked, so none is lost between a check and the
// sleep.
//
// Finding the worker that failed first: if a worker dies, its peers fail within milliseconds
// ("connection closed") and may be reaped before it. So the launcher waits a short time after the
// first failure and then picks a worker by its exit (evidence_of).
#include "app/launch/launch.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "app/launch/process.h"
#include "app/platform/failure.h"
#include "base/log.h"
#include "base/now.h"
#include "base/output.h"

namespace shoal::app {
namespace {

struct Worker {
  std::string name;
  pid_t pid = -1;
  bool running = false;
  int status = 0;  // from waitpid
};

// How strongly a worker's exit shows that it failed first. Workers often exit with `aborted` or
// `lost_peer` because another worker failed.
enum class Evidence {
  lost_peer,  // kPeerLost: the worker only lost a connection
  aborted,    // SIGABRT: a crash, or NCCL's watchdog noticed that another worker failed
  failure,    // another exit code
  signal      // another signal killed the worker
};

Evidence evidence_of(int status) {
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGABRT ? Evidence::aborted : Evidence::signal;
  return WEXITSTATUS(status) == kPeerLost ? Evidence::lost_peer : Evidence::failure;
}

std::string signal_text(int signal) {
  const char* name = ::sigabbrev_np(signal);
  std::string text = "was killed by signal " + std::to_string(signal) +
                     (name ? std::string(" (SIG") + name + ")" : "");
  if (signal == SIGKILL)
    text +=
        ", often because the system ran out of memory; lower --batch-size or --workers, then "
        "continue with --resume";
  if (signal == SIGABRT) text += "; see its message above";
  if (signal == SIGBUS) text += ", often because /dev/shm or a disk is full";
  return text;
}

class Watch {
 public:
  Watch(const Launch& plan, const BlockedSignals& signals) : plan_(plan), signals_(signals) {}

  ~Watch() {  // after an exception, workers may still run
    send(SIGKILL);
    for (Worker& worker : workers_) {
      if (worker.running) ::waitpid(worker.pid, nullptr, 0);
    }
  }

  void start_all() {
    for (const WorkerStart& start_of : plan_.workers) {
      workers_.push_back({start_of.name, start_process(plan_, start_of, signals_, token_), true});
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

  static int code_of(const Worker& worker) {
    return WIFSIGNALED(worker.status) ? 128 + WTERMSIG(worker.status) : WEXITSTATUS(worker.status);
  }

  // Whether the worker stopped on request: its exit code is that of a stop, or the forwarded signal
  // killed the worker before it had installed a handler.
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
    if (signal == SIGTSTP) {  // the terminal sends Ctrl-Z only to this process's group
      send(SIGSTOP);
      signals_.stop_here();
      return send(SIGCONT);
    }
    const bool stops = signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
    if (stops) limit_output_waits();
    if (stops && stop_signal_ == 0) {
      stop_signal_ = signal;
      if (phase_ == Phase::running) phase_start_ = now();
    }
    send(signal);
    if (stops) send(SIGCONT);  // a suspended worker would not react to the signal
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
        // If a worker stops without our signal, the others wait for it: advance() stops them later.
        if (stopped(worker) && stop_signal_ == 0 && alone_since_ == 0) alone_since_ = now();
        const bool failed = code_of(worker) != 0 && !stopped(worker) && phase_ != Phase::ending &&
                            phase_ != Phase::killed;
        if (failed && !failed_) {
          failed_ = true;
          phase_ = Phase::finding_culprit;
          phase_start_ = now();
        }
        if (failed) candidates_.push_back(&worker - workers_.data());
      }
    }
    int running = 0;
    for (const Worker& worker : workers_) running += worker.running;
    return running;
  }

  // Whether each failed worker may have failed only because another worker did.
  bool only_victims() const {
    for (const size_t i : candidates_) {
      if (evidence_of(workers_[i].status) > Evidence::aborted) return false;
    }
    return true;
  }

  double phase_seconds() const {
    if (phase_ == Phase::finding_culprit)
      return only_victims() ? plan_.lost_peer_seconds : plan_.culprit_seconds;
    if (phase_ == Phase::running) return stop_signal_ != 0 ? plan_.stop_seconds : 3600;
    return plan_.grace_seconds;
  }

  double next_wait() const {
    if (alone_since_ > 0 && stop_signal_ == 0 && phase_ == Phase::running)
      return std::max(0.0, alone_since_ + plan_.stop_seconds - now());
    return phase_seconds() -
           (phase_ == Phase::running && stop_signal_ == 0 ? 0 : now() - phase_start_);
  }

  void advance() {
    if (phase_ == Phase::running && stop_signal_ == 0) {
      if (alone_since_ > 0 && now() - alone_since_ >= plan_.stop_seconds) forward(SIGTERM);
      return;
    }
    if (now() - phase_start_ < phase_seconds()) return;
    if (phase_ == Phase::running) {
      print_error(running_names() + " did not end within " +
                  std::to_string(std::lround(plan_.stop_seconds)) +
                  " s after the stop signal; sending SIGKILL");
      phase_ = Phase::killed;
      send(SIGKILL);
    } else if (phase_ == Phase::finding_culprit) {
      reap();  // the worker that failed first may have exited just now
      phase_ = Phase::ending;
      name_culprit();
      send(SIGTERM);
      send(SIGCONT);  // a stopped worker can then end
    } else if (phase_ == Phase::ending) {
      phase_ = Phase::killed;
      send(SIGKILL);
    } else {
      print_error(running_names() +
                  ": still running after SIGKILL, probably because storage hangs; giving up");
      for (Worker& worker : workers_)
        if (std::exchange(worker.running, false)) worker.status = SIGKILL;
      given_up_ = true;
    }
    phase_start_ = now();
  }

  // Returns the names of the workers still running: "rank 0, rank 3".
  std::string running_names() const {
    std::string names;
    for (const Worker& worker : workers_)
      if (worker.running) names += (names.empty() ? "" : ", ") + worker.name;
    return names;
  }

  void name_culprit() {
    if (culprit_) return;
    for (const size_t i : candidates_) {
      if (!culprit_ || evidence_of(workers_[i].status) > evidence_of(workers_[*culprit_].status))
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
    // A worker killed by a signal writes no failure file. If a peer has written one, it describes
    // only a consequence, so replace it.
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
  double phase_start_ = 0;  // value of now(), in seconds
  bool failed_ = false;
  bool given_up_ = false;  // some workers still run after SIGKILL
  int stop_signal_ = 0;
  double alone_since_ = 0;  // now() when a worker first stopped without our signal; 0: none
};

}  // namespace

int launch(const Launch& plan) {
  const BlockedSignals signals;
  Watch watch(plan, signals);
  watch.start_all();
  return watch.run();
}

}  // namespace shoal::app
