#include "tests/support/program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "data/sources/synthetic.h"
#include "dist/env/network.h"

extern char** environ;

namespace shoal::test {
namespace fs = std::filesystem;

std::vector<std::string> joined(std::vector<std::string> words,
                                const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::stringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

namespace {

struct Started {
  pid_t pid = 0;
  std::string out, err;
  int status = 0;
  bool running = true;
};

// Returns whether `environment` sets the variable that `entry` ("NAME=value") sets.
bool sets(const std::vector<std::string>& environment, const std::string& entry) {
  const std::string name = entry.substr(0, entry.find('=')) + '=';
  return std::ranges::any_of(environment, [&](const auto& v) { return v.starts_with(name); });
}

// The destructor kills and reaps the programs that still run.
struct Running {
  std::vector<Started> processes = {};

  ~Running() {
    for (const Started& process : processes) {
      if (!process.running) continue;
      ::kill(-process.pid, SIGKILL);
      waitpid(process.pid, nullptr, 0);
    }
  }
};

// Starts the program in its own process group. Its stdout and stderr go to files in `scratch`.
Started start(const Invocation& invocation, const fs::path& scratch) {
  Started process;
  process.out = (scratch / "out").string();
  process.err = (scratch / "err").string();
  fs::create_directories(scratch);
  std::vector<char*> argv, variables;
  for (const auto& word : invocation.words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  for (const auto& v : invocation.environment) variables.push_back(const_cast<char*>(v.c_str()));
  for (char** v = environ; *v; ++v)
    if (!sets(invocation.environment, *v)) variables.push_back(*v);
  variables.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, process.out.c_str(), O_WRONLY | O_CREAT, 0644);
  posix_spawn_file_actions_addopen(&files, 2, process.err.c_str(), O_WRONLY | O_CREAT, 0644);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // Restore the default actions. A script may run these tests in the background, with SIGINT
  // ignored, or under nohup, which ignores SIGHUP.
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGHUP}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  const int failed =
      posix_spawnp(&process.pid, argv[0], &files, &attributes, argv.data(), variables.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  INFO(invocation.words[0]);
  REQUIRE(failed == 0);
  return process;
}

}  // namespace

std::string shoal_program() {
  return std::string(SHOAL_BINARY_DIR) + "/shoal";
}

std::string free_port() {
  return std::to_string(dist::free_port());
}

std::vector<Outcome> run_together(const std::vector<Invocation>& invocations,
                                  const std::function<bool(const std::vector<pid_t>&)>& watch,
                                  double limit_seconds) {
  const TemporaryDirectory scratch;
  Running running;
  std::vector<Started>& processes = running.processes;
  std::vector<pid_t> ids;
  for (const auto& invocation : invocations) {
    processes.push_back(start(invocation, scratch.path() / std::to_string(processes.size())));
    ids.push_back(processes.back().pid);
  }

  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  bool late = false;
  for (size_t left = processes.size(); left > 0;) {
    late = std::chrono::duration<double>(Clock::now() - begin).count() > limit_seconds;
    const bool end = late || (watch && watch(ids));
    for (Started& process : processes) {
      if (!process.running) continue;
      if (end) ::kill(-process.pid, SIGKILL);
      if (waitpid(process.pid, &process.status, WNOHANG) == 0) continue;
      process.running = false;
      --left;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  std::vector<Outcome> outcomes;
  for (const Started& process : processes) {
    const int status = process.status;
    const bool killed = WIFSIGNALED(status);
    outcomes.push_back({killed ? 128 + WTERMSIG(status) : WEXITSTATUS(status), killed,
                        read_text(process.out), read_text(process.err)});
    UNSCOPED_INFO(outcomes.back().err);
  }
  REQUIRE_FALSE(late);
  return outcomes;
}

pid_t worker_of(pid_t parent, int rank) {
  std::ifstream list("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) +
                     "/children");
  for (pid_t pid; list >> pid;) {
    std::istringstream variables(read_text("/proc/" + std::to_string(pid) + "/environ"));
    for (std::string variable; std::getline(variables, variable, '\0');)
      if (variable == "RANK=" + std::to_string(rank)) return pid;
  }
  return 0;
}

bool signal_worker(pid_t shoal, int rank, int signal) {
  const pid_t worker = worker_of(shoal, rank);
  return worker > 0 && ::kill(worker, signal) == 0;
}

std::string stderr_of(pid_t process) {
  return read_text("/proc/" + std::to_string(process) + "/fd/2");
}

Outcome run_shoal(const std::vector<std::string>& words,
                  const std::vector<std::string>& environment,
                  const std::function<bool(pid_t)>& watch, double limit_seconds) {
  return run_program(shoal_program(), words, environment, watch, limit_seconds);
}

Outcome run_program(const std::string& program, const std::vector<std::string>& words,
                    const std::vector<std::string>& environment,
                    const std::function<bool(pid_t)>& watch, double limit_seconds) {
  Invocation invocation{{program}, environment};
  invocation.words.insert(invocation.words.end(), words.begin(), words.end());
  const auto watch_one = [&](const std::vector<pid_t>& ids) { return watch && watch(ids[0]); };
  return run_together({invocation}, watch_one, limit_seconds).front();
}

void check_refused(const std::vector<std::string>& words, const std::string& part) {
  const Outcome run = run_shoal(words);
  INFO(run.err);
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.err, Catch::Contains(part));
}

void make_images(const fs::path& root, int train, int val, int classes, int side) {
  data::SyntheticOptions options;
  options.images = options.distinct = train + val;
  options.classes = classes;
  options.width = options.height = side;
  const auto images = data::make_synthetic(options);
  std::vector<uint8_t> bytes;
  for (int i = 0; i < train + val; ++i) {
    const auto label = static_cast<size_t>(images->label(i));
    const fs::path folder = root / (i < train ? "train" : "val") / images->classes()[label];
    fs::create_directories(folder);
    images->read(i, bytes);
    std::ofstream(folder / (std::to_string(i) + ".jpg"), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
}

fs::path first_file(const fs::path& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) return entry.path();
  return {};
}

}  // namespace shoal::test
