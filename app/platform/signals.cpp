#include "app/platform/signals.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <initializer_list>

#include "base/output.h"
#include "train/control/stop.h"

namespace shoal::app {
namespace {

std::atomic<bool> training = false;
bool platform = false;
constexpr unsigned kPollSeconds = 10;

template <size_t N>
[[noreturn]] void leave(const char (&text)[N], int code) {
  limit_output_waits();
  // Ends the line of a terminal's progress bar.
  if (::isatty(STDERR_FILENO) == 1) write_output(STDERR_FILENO, "\n", 1);
  write_output(STDERR_FILENO, text, N - 1);
  _exit(code);
}

// Launchers and supervisors may each forward the same signal. So a signal that arrives within this
// time after the first one counts as a copy of it.
constexpr int64_t kSameSignalNs = 1'000'000'000;
std::atomic<int64_t> first_stop = 0;  // time of the first signal in nanoseconds; 0: none yet

int64_t monotonic_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Requests a stop. Returns true if a stop was already requested at least kSameSignalNs before.
bool is_second_stop(int number) {
  int64_t first = 0;
  const int64_t time = monotonic_ns();
  if (first_stop.compare_exchange_strong(first, time)) first = time;
  return !train::request_stop(number) && time - first >= kSameSignalNs;
}

// SIGHUP acts like SIGTERM.
int exit_code(int number) {
  return 128 + (number == SIGHUP ? SIGTERM : number);
}

void on_early_stop(int number) {
  leave("shoal: stopped while it read its settings\n", platform ? 0 : exit_code(number));
}

void on_stop(int number) {
  if (!training)
    leave("shoal: stopped before training began; nothing to save\n",
          platform ? 0 : exit_code(number));
  if (!is_second_stop(number)) return;
  leave("shoal: stopped immediately by a second signal, without saving\n", exit_code(number));
}

// Like on_stop(), but if the command has not ended after kPollSeconds, on_alarm() ends the process.
// The command may hang in a read.
void on_polled_stop(int number) {
  on_stop(number == SIGHUP ? SIGTERM : number);
  ::alarm(kPollSeconds);
}

void on_alarm(int) {
  leave("shoal: stopped without results: no step or batch ended within 10 s\n",
        128 + train::stop_signal());
}

void on_resumable_interruption(int number) {
  leave("shoal: interrupted; repeat the command to continue\n", exit_code(number));
}

void on_interruption(int number) {
  leave("shoal: interrupted before the end; repeat the command for complete results\n",
        exit_code(number));
}

// The terminal was closed. Acts like a first SIGTERM.
void on_hangup(int) {
  if (!training) on_stop(SIGTERM);
  is_second_stop(SIGTERM);  // a second SIGHUP does not exit
}

void on_checkpoint(int) {
  train::request_checkpoint();
}

void install(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(number, &action, nullptr);
}

// Installs the handler for the signals that are not ignored. A script starts `shoal train … &` with
// SIGINT ignored, and nohup ignores SIGHUP.
void install_unless_ignored(std::initializer_list<int> numbers, void (*handler)(int)) {
  for (const int number : numbers)
    if (!is_ignored(number)) install(number, handler);
}

void change_mask(int how, std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  sigprocmask(how, &set, nullptr);
}

}  // namespace

bool is_ignored(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

void hold_signals() {
  change_mask(SIG_BLOCK, {SIGTERM, SIGHUP, SIGUSR1});
  for (const int number : {SIGUSR2, SIGXFSZ, SIGPIPE}) ::signal(number, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);  // if a parent left it ignored, waitpid() would miss exit codes
}

EndedBySignals::EndedBySignals(bool trains_on_platform) {
  platform = trains_on_platform;
  install_unless_ignored({SIGTERM, SIGHUP, SIGINT}, on_early_stop);
  release_signals();
}

EndedBySignals::~EndedBySignals() {
  change_mask(SIG_BLOCK, {SIGTERM, SIGHUP});
  install_unless_ignored({SIGTERM, SIGHUP, SIGINT}, SIG_DFL);
}

void release_signals() {
  change_mask(SIG_UNBLOCK, {SIGTERM, SIGHUP, SIGINT});
}

void install_training_signals(bool on_platform) {
  platform = on_platform;
  install(SIGTERM, on_stop);
  install(SIGUSR1, on_checkpoint);
  install_unless_ignored({SIGINT}, on_stop);
  install_unless_ignored({SIGHUP}, on_hangup);
  change_mask(SIG_UNBLOCK, {SIGTERM, SIGHUP, SIGINT, SIGUSR1});
}

void training_begins() {
  training = true;
}

void install_polled_signals() {
  training = true;
  install(SIGTERM, on_polled_stop);
  install_unless_ignored({SIGINT, SIGHUP}, on_polled_stop);
  install(SIGALRM, on_alarm);
}

void install_resumable_signals() {
  install(SIGTERM, on_resumable_interruption);
  install_unless_ignored({SIGINT, SIGHUP}, on_resumable_interruption);
}

void install_interruption_signals() {
  install(SIGTERM, on_interruption);
  install_unless_ignored({SIGINT, SIGHUP}, on_interruption);
}

}  // namespace shoal::app
