// Tests how a run reacts to its surroundings: terminals, early signals, closed or full descriptors,
// limits of the system, and packed sets that become shorter.

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/now.h"
#include "tests/support/program.h"
#include "train/checkpoint/checkpoint_store.h"

using namespace shoal;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// A short run of a small network on a few images.
struct Run {
  explicit Run(int images = 16) { test::make_images(root() / "data", images, 4, 2, 40); }

  fs::path root() const { return directory.path(); }
  fs::path output() const { return root() / "run"; }
  std::vector<std::string> words(const std::vector<std::string>& more = {}) const {
    // clang-format off
    std::vector<std::string> words = {
        "train", "--data", (root() / "data").string(), "--output", output().string(), "--model",
        "mobilenet_v3_small",
        "--size", "32", "--batch-size", "4", "--epochs", "1", "--lr", "0.01", "--print-freq", "1",
        "--threads", "1"};
    // clang-format on
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  auto checkpoints() const { return train::CheckpointStore(output() / "checkpoints", 9).entries(); }

  test::TemporaryDirectory directory;
};

std::string quoted(const std::vector<std::string>& words) {
  std::string line = "'" + test::shoal_program() + "'";
  for (const auto& word : words) line += " '" + word + "'";
  return line;
}

// Runs one line of bash: `before` (commands that end with "; ", or "exec "), shoal with the
// arguments `words`, and `after` (redirections or a pipe).
test::Outcome in_shell(const std::string& before, const std::vector<std::string>& words,
                       const std::string& after = "") {
  return test::run_program("bash", {"-c", before + quoted(words) + after});
}

// Returns the value of `key` in /proc/PID/status.
std::string status_of(pid_t pid, const std::string& key) {
  for (const auto& line :
       test::lines_of(test::read_text("/proc/" + std::to_string(pid) + "/status")))
    if (line.starts_with(key + ":\t")) return line.substr(key.size() + 2);
  return "";
}

// Returns a `watch` for run_shoal() that sends a signal `times` times. It starts when the process
// ignores SIGPIPE (so main() has begun) but has not yet become a worker.
std::function<bool(pid_t)> sending(int signal, int times, int& sent) {
  ::signal(SIGPIPE, SIG_DFL);
  return [=, &sent](pid_t pid) {
    const std::string ignored = status_of(pid, "SigIgn");
    const bool begun =
        !ignored.empty() && (std::stoull(ignored, nullptr, 16) >> (SIGPIPE - 1) & 1) != 0;
    if (sent == 0 && (!begun || status_of(pid, "Name") != "shoal")) return false;
    if (sent < times && ::kill(pid, signal) == 0) ++sent;
    return false;
  };
}

// Runs a command line in bash on a new terminal. `watch` gets what was printed so far and may
// return keys to type. Returns all that was printed, or fails the test after 60 s.
std::string on_terminal(const std::string& line,
                        const std::function<std::string(const std::string&)>& watch) {
  int terminal = -1;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  REQUIRE(pid >= 0);
  if (pid == 0) {
    ::execlp("bash", "bash", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  std::string printed;
  const double end = now() + 60;
  char part[4096];
  bool late = false;
  while (true) {
    pollfd ready = {terminal, POLLIN, 0};
    const double left = end - now();
    late = left <= 0 || ::poll(&ready, 1, static_cast<int>(1000 * left) + 1) == 0;
    const ssize_t n = late ? 0 : ::read(terminal, part, sizeof part);
    if (n <= 0) break;
    printed.append(part, static_cast<size_t>(n));
    const std::string keys = watch(printed);
    if (!keys.empty()) REQUIRE(::write(terminal, keys.data(), keys.size()) > 0);
  }
  ::close(terminal);  // hangs up
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  INFO(printed);
  REQUIRE_FALSE(late);
  return printed;
}

}  // namespace

TEST_CASE("with `stty tostop`, several processes write to the terminal and finish", "[terminal]") {
  const Run run;
  const auto seen = test::run_program(
      "/usr/bin/script",
      {"-qec", "stty tostop; " + quoted(run.words({"--nproc", "2"})), "/dev/null"}, {}, {}, 60);
  INFO(seen.out);
  CHECK(seen.exit_code == 0);
  CHECK_THAT(seen.out, Contains("Epoch: [0]"));
}

TEST_CASE("Ctrl-Z stops all processes of a run, and fg continues them", "[terminal]") {
  const Run run(400);
  // Bash starts the run as a foreground job. When the job has stopped, `ps` lists the states of the
  // processes on this terminal, and `fg` continues the job.
  const std::string line = "set -m; " + quoted(run.words({"--nproc", "2"})) +
                           "; echo code $? stopped; ps -o stat=,comm= | grep shoal-worker | sed "
                           "'s/^/state /'; fg; echo code $? at the end";
  bool pressed = false;
  const std::string seen = on_terminal(line, [&](const std::string& printed) -> std::string {
    if (pressed || printed.find("Epoch: [0][ 2") == printed.npos) return "";
    pressed = true;
    return "\x1a";
  });
  INFO(seen);
  CHECK_THAT(seen, Contains("code 148 stopped"));  // 128 + SIGTSTP
  CHECK(test::count_of(seen, "state T") >= 2);
  CHECK(test::count_of(seen, "state R") + test::count_of(seen, "state S") == 0);
  CHECK_THAT(seen, Contains("code 0 at the end"));
}

TEST_CASE("SIGUSR1 from the first moment on is a request to save, kept until the run can") {
  const Run run(32);
  const std::string nproc = GENERATE("1", "2");
  int sent = 0;
  const auto outcome = test::run_shoal(run.words({"--nproc", nproc, "--keep", "9"}), {},
                                       sending(SIGUSR1, 400, sent));
  INFO(outcome.err);
  CHECK(sent == 400);
  CHECK(outcome.exit_code == 0);
  CHECK(run.checkpoints().size() >= 2);  // for SIGUSR1, and at the end of the epoch
}

TEST_CASE("the first SIGTERM or SIGHUP, however early, stops a run; SIGUSR2 has no effect") {
  const Run run;
  const auto [signal, code, words] = GENERATE(table<int, int, std::string>(
      {{SIGTERM, 143, "stopped"}, {SIGHUP, 143, "stopped"}, {SIGUSR2, 0, "saved"}}));
  int sent = 0;
  const auto outcome = test::run_shoal(run.words(), {}, sending(signal, 1, sent));
  INFO(outcome.err);
  CHECK(sent == 1);
  CHECK(outcome.exit_code == code);
  CHECK_THAT(outcome.err, Contains(words));
}

TEST_CASE("a run that is started with stdin, stdout and stderr closed keeps its files clean") {
  const Run run;
  const auto outcome =
      in_shell("exec ", run.words({"--nproc", GENERATE("1", "2")}), " <&- >&- 2>&-");
  CHECK(outcome.exit_code == 0);
  CHECK(run.checkpoints().size() == 1);
  const auto rows = test::lines_of(test::read_text(run.output() / "history.jsonl"));
  CHECK(rows.size() >= 3);
  for (const auto& row : rows) CHECK(row.starts_with('{'));
  CHECK_THAT(test::read_text(run.output() / ".lock"), !Contains("Epoch") && !Contains("info"));
}

TEST_CASE("no command succeeds if its output is lost, but a closed pipe is no error") {
  const Run run;
  const std::vector<std::vector<std::string>> commands = {
      {"--help"},  {"--version"}, {"train", "--help", "all"}, {"train", "--recipe", "list"},
      {"metrics"}, {"models"}};
  for (const auto& words : commands) {
    INFO(words[0]);
    const auto full = in_shell("", words, " >/dev/full");
    CHECK(full.exit_code == 1);
    CHECK_THAT(full.err, Contains("standard output") && Contains("No space left"));
    CHECK(test::count_of(full.err, "shoal: error") == 1);
    const auto closed = in_shell("set -o pipefail; ", words, " | true");
    CHECK(closed.exit_code == 0);
    CHECK(closed.err.empty());
  }
  const auto doctor = in_shell("", {"doctor"}, " >/dev/full");
  CHECK(doctor.exit_code == 1);
  CHECK_THAT(doctor.err, Contains("standard output"));

  const auto two = in_shell(
      "", run.words({"--nproc", "2", "--output", (run.root() / "two").string()}), " >/dev/full");
  INFO(two.err);
  CHECK(two.exit_code == 1);
  CHECK_THAT(two.err, Contains("standard output") && Contains("No space left"));

  const auto trained = in_shell("", run.words(), " >/dev/full");
  INFO(trained.err);
  CHECK(trained.exit_code == 1);
  CHECK_THAT(trained.err, (Contains("shoal: error") && Contains("standard output")));
  REQUIRE(run.checkpoints().size() == 1);
  CHECK(run.checkpoints().front().step == 4);
  CHECK_THAT(test::read_text(run.output() / "summary.json"), Contains("\"complete\""));

  const std::string checkpoint = run.output().string(), data = (run.root() / "data").string();
  CHECK(
      in_shell("", {"eval", "--checkpoint", checkpoint, "--data", data}, " >/dev/full").exit_code ==
      1);
  CHECK(in_shell("", {"predict", "--checkpoint", checkpoint, data}, " >/dev/full").exit_code == 1);
}

TEST_CASE("a run continues when the reader of its stdout exits") {
  const Run run;
  const auto outcome = in_shell("set -o pipefail; ", run.words(), " | head -n 1 >/dev/null");
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  REQUIRE(run.checkpoints().size() == 1);
  CHECK(run.checkpoints().front().step == 4);
}

TEST_CASE("no program loads libraries from the current folder") {
  const Run run;
  for (const char* name : {"libspdlog.so.1.10", "libz.so.1", "libopencv_core.so.406", "libc10.so"})
    test::write_text(run.root() / name, "not a library");
  const std::string there = "cd '" + run.root().string() + "' && exec ";
  CHECK(in_shell(there, {"--version"}).exit_code == 0);
  const auto trained = in_shell(there, run.words());
  INFO(trained.err);
  CHECK(trained.exit_code == 0);
  CHECK(fs::exists(run.output() / "report.html"));
}

TEST_CASE("limits of the system are named with what to do, before the workers start") {
  const Run run;
  // `ulimit -u` does not limit root, so run as another user who may read this build.
  const std::string as_user = ::geteuid() == 0
                                  ? "setpriv --reuid 65534 --clear-groups --inh-caps +dac_override "
                                    "--ambient-caps +dac_override "
                                  : "";
  const auto [before, name, remedy] = GENERATE_COPY(table<std::string, std::string, std::string>(
      {{"ulimit -n 40; exec ", "open files", "ulimit -n"},
       {"ulimit -v 1000000; exec ", "address space", "ulimit -v"},
       {"ulimit -f 100; exec ", "file size", "ulimit -f"},
       {"exec " + as_user + "bash -c 'ulimit -u 8; exec \"$@\"' bash ", "processes and threads",
        "ulimit -u"}}));
  const auto outcome = in_shell(before, run.words({"--nproc", GENERATE("1", "2")}));
  INFO(outcome.err);
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, Contains("shoal: error: " + name + ": ") && Contains(remedy));
  CHECK(test::lines_of(outcome.err).size() == 1);
}

TEST_CASE("a run works in 6 GB of address space; if its threads need more, the limit is named") {
  const Run run;
  const std::string limits = "ulimit -s 8192; ulimit -v 6000000; exec ";
  for (const char* processes : {"1", "2"}) {
    const auto fits = in_shell(
        limits, run.words({"--nproc", processes, "--output", (run.root() / processes).string(),
                           "--workers", "1", "--device", "cpu"}));
    INFO(fits.err);
    CHECK(fits.exit_code == 0);
  }
  // The stacks of 620 threads need 5.2 GB. With LibTorch's libraries, that exceeds the limit.
  const auto larger = in_shell(
      limits, run.words({"--output", (run.root() / "larger").string(), "--workers", "620"}));
  INFO(larger.err);
  CHECK(larger.exit_code == 1);
  CHECK_THAT(larger.err, Contains("shoal: error: ") && Contains("ulimit -v"));
}

TEST_CASE("checkpoints in a mounted folder of the same disk are saved and resumed", "[mounts]") {
  const Run run;
  const fs::path volume = run.root() / "volume", mounted = run.output() / "checkpoints";
  for (const auto& folder : {volume, mounted, run.root() / "results"})
    fs::create_directories(folder);
  // As with subPath in Kubernetes, files cannot be renamed into the mounted folder from outside.
  std::string mounts = "mount --bind '" + volume.string() + "' '" + mounted.string() + "' && ";
  std::vector<std::string> results;
  if (GENERATE(false, true)) {  // the folder above is read-only
    const std::string parent = "'" + run.output().string() + "'";
    mounts = "mount --bind " + parent + " " + parent + " && " + mounts +
             "mount -o remount,ro,bind " + parent + " && ";
    results = {"--output", (run.root() / "results").string(), "--checkpoint-dir", mounted.string()};
  }
  for (const char* epochs : {"1", "2"}) {
    const auto words = test::joined(run.words(results), {"--resume", "--epochs", epochs});
    const auto outcome =
        test::run_program("unshare", {"--mount", "bash", "-c", mounts + "exec " + quoted(words)});
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
  }
  const auto saved = train::CheckpointStore(volume, 9).entries();
  REQUIRE(saved.size() == 2);
  CHECK(saved.front().step == 8);
  CHECK(fs::exists(volume / ".tmp"));
  for (const auto& entry : fs::recursive_directory_iterator(volume))
    CHECK(entry.path().extension() != ".part");
}

TEST_CASE("a checkpoint beyond the limit of file sizes is an error that names the file") {
  const Run run;
  const auto outcome = in_shell("ulimit -f 20000; exec ",  // 20 MB
                                run.words({"--model", "efficientnet_b0"}));
  INFO(outcome.err);
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, Contains("NOT SAVED") && Contains("checkpoints") &&
                              Contains("ulimit -f") && Contains("free some space"));
}

TEST_CASE(
    "a packed set that becomes shorter during a run is an error that names it, after a save") {
  const Run run(200);
  for (const std::string split : {"train", "val"}) {
    const auto packed = test::run_shoal({"pack", (run.root() / "data" / split).string(),
                                         (run.root() / (split + ".pack")).string()});
    INFO(packed.err);
    REQUIRE(packed.exit_code == 0);
  }
  const fs::path pack = run.root() / "train.pack";
  bool cut = false;
  const auto outcome =
      test::run_shoal({"train",
                       "--train",
                       pack.string(),
                       "--val",
                       (run.root() / "val.pack").string(),
                       "--output",
                       run.output().string(),
                       "--model",
                       "mobilenet_v3_small",
                       "--size",
                       "32",
                       "--batch-size",
                       "4",
                       "--epochs",
                       "90",
                       "--lr",
                       "0.01",
                       "--print-freq",
                       "1",
                       "--workers",
                       "1"},
                      {}, [&](pid_t) {
                        if (cut || test::read_text(run.output() / "history.jsonl").empty())
                          return false;
                        cut = true;
                        fs::resize_file(pack, 4096);
                        return false;
                      });
  INFO(outcome.err);
  CHECK(cut);
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, Contains("shoal: error: ") && Contains("train.pack has become shorter"));
  CHECK(run.checkpoints().size() >= 1);
}
