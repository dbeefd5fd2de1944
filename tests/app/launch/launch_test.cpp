// These tests start real processes. The workers are small shell scripts that depend on RANK.
#include "app/launch/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>

#include "app/platform/failure.h"
#include "app/platform/signals.h"
#include "tests/support/capture.h"

using namespace shoal;
using app::Launch;
using app::launch;
using Catch::Contains;
using test::capture;
using test::Captured;
using test::Folder;

namespace {

// A script for a worker that runs until SIGTERM ends it.
const std::string kForever = "exec tail -f /dev/null";

Launch shell(const std::string& script, int workers) {
  Launch plan{"/bin/sh", {"-c", script}, {}, "algo-1"};
  for (int rank = 0; rank < workers; ++rank) {
    auto environment = dist::environment();
    environment["RANK"] = std::to_string(rank);
    plan.workers.push_back({"rank " + std::to_string(rank), environment});
  }
  return plan;
}

}  // namespace

TEST_CASE("workers get their own variables, and the launcher exits with 0 if all succeed") {
  Folder folder;
  const Captured run =
      capture([&] { return launch(shell("echo rank $RANK > " + folder.text() + "/$RANK", 3)); });
  CHECK(run.code == 0);
  CHECK(run.err.empty());
  for (const char* rank : {"0", "1", "2"})
    CHECK(test::read_text(folder / rank) == std::string("rank ") + rank + "\n");
}

TEST_CASE("the output of workers is passed through unchanged") {
  const Captured run =
      capture([] { return launch(shell("printf 'a\\tb\\n'; printf 'c\\n' >&2", 1)); });
  CHECK(run.out == "a\tb\n");
  CHECK(run.err == "c\n");
}

TEST_CASE("when a rank fails, one line names it and the others end") {
  const Captured run =
      capture([] { return launch(shell("[ $RANK = 1 ] && exit 3; " + kForever, 3)); });
  CHECK(run.code == 3);
  CHECK_THAT(run.err, Contains("shoal: error: rank 1 on algo-1") && Contains("exit code 3"));
  CHECK(test::count_of(run.err, "\n") == 1);
}

TEST_CASE("a worker that ignores SIGTERM is killed after the grace period") {
  Launch plan = shell("[ $RANK = 0 ] && exit 1; trap '' TERM; echo deaf; " + kForever, 2);
  plan.grace_seconds = 0.5;
  const Captured run = capture([&] { return launch(plan); });
  CHECK(run.code == 1);
  CHECK(run.seconds >= plan.culprit_seconds + plan.grace_seconds);
}

TEST_CASE("after a lost peer, a worker that ignores SIGTERM is killed after both timeouts") {
  Launch plan = shell("[ $RANK = 0 ] && exit 4; trap '' TERM; " + kForever, 2);
  plan.culprit_seconds = 60;  // must not apply: the failed worker only lost a peer
  plan.lost_peer_seconds = 0.3;
  plan.grace_seconds = 0.4;
  const Captured run = capture([&] { return launch(plan); });
  CHECK(run.code == app::kPeerLost);
  CHECK(run.seconds >= plan.lost_peer_seconds + plan.grace_seconds);
}

TEST_CASE("a killed rank is named even if other ranks exited first") {
  Folder folder;
  const std::string pipe = folder.text() + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  // Rank 0 kills itself only after rank 1 (which reports a lost peer) has exited and so closed the
  // pipe.
  const std::string script = "if [ $RANK = 1 ]; then exec 3>" + pipe +
                             "; exit 4; fi; read line < " + pipe + "; kill -KILL $$";
  const Captured run = capture([&] { return launch(shell(script, 2)); });
  CHECK(run.code == 128 + SIGKILL);
  CHECK_THAT(run.err, Contains("rank 0 on algo-1") && Contains("SIGKILL") && !Contains("rank 1"));
}

TEST_CASE("a failed rank is named instead of an earlier one that only lost a peer") {
  Folder folder;
  const std::string pipe = folder.text() + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const std::string script =
      "if [ $RANK = 0 ]; then exec 3>" + pipe + "; exit 4; fi; read line < " + pipe + "; exit 3";
  const Captured run = capture([&] { return launch(shell(script, 2)); });
  CHECK(run.code == 3);
  CHECK_THAT(run.err, Contains("rank 1 on algo-1"));
}

TEST_CASE("a failed rank is named, not an aborted one; and an aborted one, not a lost peer") {
  const auto [last, code] = GENERATE(table<const char*, int>({
      {"exit 3", 3},
      {"kill -KILL $$", 128 + SIGKILL},
      {"exit 4", 128 + SIGABRT},
  }));
  Folder folder;
  const std::string pipe = folder.text() + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const std::string script = "if [ $RANK = 0 ]; then exec 3>" + pipe +
                             "; kill -ABRT $$; fi; read line < " + pipe + "; " + last;
  const Captured run = capture([&] { return launch(shell(script, 2)); });
  CHECK(run.code == code);
  CHECK_THAT(run.err, Contains(code == 128 + SIGABRT ? "rank 0 on algo-1" : "rank 1 on algo-1"));
}

TEST_CASE("the launcher leaves a user error to the workers and gives them a token to report it") {
  const std::string script =
      "[ -p /proc/self/fd/$SHOAL_REPORT_FD ] && exit 2; echo no token >&2; exit 9";
  const Captured run = capture([&] { return launch(shell(script, 2)); });
  CHECK(run.code == app::kUsage);
  CHECK(run.err.empty());
}

TEST_CASE("SIGTERM and SIGINT reach every worker, and their stop codes are returned") {
  const auto [signal, name, code] =
      GENERATE(table<int, const char*, int>({{SIGTERM, "TERM", 143}, {SIGINT, "INT", 130}}));
  // A shell runs a trap only after its foreground command has ended, so the script waits for a
  // background command. Rank 1 prints "ready" only after rank 0 is ready.
  Folder folder;
  const std::string pipe = folder.text() + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const std::string stop = std::string("trap 'echo stopped $RANK; kill -KILL $child; exit ") +
                           std::to_string(code) + "' " + name + "; tail -f /dev/null & child=$!; ";
  const std::string script = stop + "if [ $RANK = 0 ]; then echo x > " + pipe + "; else read x < " +
                             pipe + "; echo ready; fi; wait $child";
  const Captured run = capture([&] { return launch(shell(script, 2)); },
                               [signal = signal](pid_t pid) { ::kill(pid, signal); });
  CHECK(run.code == code);
  CHECK(test::count_of(run.out, "stopped 0") == 1);
  CHECK(test::count_of(run.out, "stopped 1") == 1);
  CHECK(run.err.empty());
}

TEST_CASE("a SIGINT that was ignored at the start is not a stop") {
  const Captured run = capture(
      [] {
        ::signal(SIGINT, SIG_IGN);
        return launch(shell("echo ready; " + kForever, 1));
      },
      [](pid_t pid) {
        ::kill(pid, SIGINT);
        ::kill(pid, SIGTERM);
      });
  CHECK(run.code == 143);
  CHECK(run.err.empty());  // no failure, because SIGTERM is the stop signal, not SIGINT
}

TEST_CASE("SIGTERM also continues a suspended worker, which then ends") {
  const std::string script = "trap 'exit 143' TERM; echo ready; kill -STOP $$; while :; do :; done";
  const Captured run =
      capture([&] { return launch(shell(script, 1)); }, [](pid_t pid) { ::kill(pid, SIGTERM); });
  CHECK(run.code == 143);
}

TEST_CASE("if a rank fails, suspended workers end by SIGTERM too") {
  Folder folder;
  const std::string file = folder.text() + "/suspended";
  const std::string script = "[ $RANK = 0 ] && { until [ -e " + file +
                             " ]; do :; done; exit 3; }; trap 'echo ended; exit 143' TERM; (until "
                             "grep -q '^State:.T' /proc/$$/status; do :; done; : >" +
                             file + ") & kill -STOP $$; while :; do :; done";
  const Captured run = capture([&] { return launch(shell(script, 2)); });
  CHECK(run.code == 3);
  CHECK(run.out == "ended\n");
}

TEST_CASE("a worker that does not end after SIGTERM is named and killed") {
  Launch plan = shell("trap '' TERM; [ $RANK = 1 ] || exit 143; echo ready; " + kForever, 2);
  plan.stop_seconds = 0.5;
  const Captured run =
      capture([&] { return launch(plan); }, [](pid_t pid) { ::kill(pid, SIGTERM); });
  CHECK(run.code == 143);
  CHECK(run.seconds >= plan.stop_seconds);
  CHECK_THAT(run.err, Contains("rank 1 did not end") && !Contains("rank 0"));
}

TEST_CASE("the launcher exits with 0 if all workers exit with 0 after SIGTERM") {
  const std::string script =
      "trap 'kill -KILL $child; exit 0' TERM; tail -f /dev/null & child=$!; echo ready; wait "
      "$child";
  const Captured run =
      capture([&] { return launch(shell(script, 1)); }, [](pid_t pid) { ::kill(pid, SIGTERM); });
  CHECK(run.code == 0);
}

TEST_CASE("SIGTERM before a worker has a handler is a stop, not a failure") {
  const Captured run = capture([] { return launch(shell("echo ready; " + kForever, 1)); },
                               [](pid_t pid) { ::kill(pid, SIGTERM); });
  CHECK(run.code == 143);
  CHECK(run.err.empty());
}

TEST_CASE("workers that exit with 143 by themselves are a stop, not a failure") {
  const Captured run = capture([] { return launch(shell("exit 143", 2)); });
  CHECK(run.code == 143);
  CHECK(run.err.empty());
}

TEST_CASE("if only one worker is stopped, the launcher stops the others") {
  const Captured run = capture([] {
    Launch plan = shell("test $RANK = 0 && exit 143; " + kForever, 2);
    plan.stop_seconds = 0.2;
    plan.grace_seconds = 5;
    return launch(plan);
  });
  CHECK(run.code == 143);
  CHECK(run.err.empty());
}

TEST_CASE("the launcher sees its workers end even if its parent ignores SIGCHLD") {
  const Captured run = capture([] {
    ::signal(SIGCHLD, SIG_IGN);
    app::hold_signals();  // as main() does
    return launch(shell("exit 3", 2));
  });
  CHECK(run.code == 3);
}

TEST_CASE("SIGUSR1 is passed to the workers and does not stop the run") {
  const std::string script =
      "trap 'kill -KILL $child; exit 0' USR1; tail -f /dev/null & child=$!; echo ready; wait "
      "$child";
  const Captured run =
      capture([&] { return launch(shell(script, 1)); }, [](pid_t pid) { ::kill(pid, SIGUSR1); });
  CHECK(run.code == 0);
}

TEST_CASE("SIGTSTP stops the launcher and its workers, and SIGCONT continues them") {
  Folder folder;
  const std::string pipe = folder.text() + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto stops = [](const std::string& pid) {  // whether it stops within 10 s
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < end) {
      const std::string stat = test::read_text("/proc/" + pid + "/stat");  // "PID (NAME) STATE …"
      if (stat[stat.rfind(')') + 2] == 'T') return true;
    }
    return false;
  };
  int stopped = 0;
  const std::string script = "echo $$ > " + folder.text() +
                             "/$RANK; if [ $RANK = 0 ]; then echo x > " + pipe +
                             "; else read x < " + pipe + "; echo ready; fi; " + kForever;
  const Captured run = capture(
      [&] {
        // SIGTSTP does not stop orphaned process groups. So create a group, as shells do for jobs.
        ::setpgid(0, 0);
        return launch(shell(script, 2));
      },
      [&](pid_t pid) {
        ::kill(pid, SIGTSTP);
        int status = 0;
        ::waitpid(pid, &status, WUNTRACED);
        for (const char* rank : {"0", "1"}) {
          const std::string text = test::read_text(folder / rank);
          stopped += stops(text.substr(0, text.find('\n')));
        }
        ::kill(pid, SIGCONT);
        ::kill(pid, SIGTERM);
      });
  CHECK(stopped == 2);
  CHECK(run.code == 143);
  CHECK(run.err.empty());
}

TEST_CASE("a worker that somebody stops is named, and how to continue it") {
  Folder folder;
  const std::string err = folder.text() + "/err";
  // The worker stops itself. A background process continues it once the launcher has reported it.
  const std::string script = "pid=$$; (until grep -q \"kill -CONT $pid\" " + err +
                             "; do :; done; kill -CONT $pid) & kill -STOP $$; wait; exit 0";
  const Captured run = capture([&] {
    ::dup2(::open(err.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600), STDERR_FILENO);
    return launch(shell(script, 1));
  });
  CHECK(run.code == 0);
  CHECK_THAT(test::read_text(err), Contains("rank 0 on algo-1 was stopped by signal 19"));
}

TEST_CASE("workers end when the launcher is killed") {
  // capture() returns only when all processes that have stdout open have ended.
  const Captured run = capture([] { return launch(shell("echo ready; " + kForever, 2)); },
                               [](pid_t pid) { ::kill(pid, SIGKILL); });
  CHECK(run.code == 128 + SIGKILL);
}

TEST_CASE("each worker has its own process group, so that Ctrl-C reaches it once") {
  const Captured run =
      capture([] { return launch(shell("set -- $(cat /proc/$$/stat); [ $5 = $$ ]", 2)); });
  CHECK(run.code == 0);
}

TEST_CASE("orphans are reaped, and their exit codes are ignored") {
  Folder folder;
  const std::string file = folder.text() + "/orphan";
  // The worker exits once the orphan has disappeared from /proc. If the launcher does not reap the
  // orphan, the worker never exits.
  const std::string script = "(sh -c 'echo $$ > " + file + "; exit 7' &); while [ ! -s " + file +
                             " ]; do :; done; read pid < " + file +
                             "; while [ -d /proc/$pid ]; do :; done; exit 0";
  const Captured run = capture([&] {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // adopts orphans, as PID 1 does
    return launch(shell(script, 1));
  });
  CHECK(run.code == 0);
}

TEST_CASE("a program that cannot be started is an error that names it") {
  Launch plan = shell("", 2);
  plan.program = "/nowhere/shoal-worker";
  REQUIRE_THROWS_WITH(launch(plan), Contains("/nowhere/shoal-worker") && Contains("rank 0"));
}

TEST_CASE("the failure file keeps a worker's error, but a kill replaces the error of a lost peer") {
  Folder folder;
  std::filesystem::create_directories(folder / "output");
  const std::string file = (folder / "output/failure").string();
  const auto run = [&](const std::string& script) {
    Launch plan = shell(script, 1);
    plan.failure_file = file;
    capture([&] { return launch(plan); });
  };
  run("echo 'the data is bad' > " + file + "; exit 1");
  CHECK(test::read_text(file) == "the data is bad\n");
  run("echo 'lost a peer' > " + file + "; kill -SEGV $$");
  CHECK_THAT(test::read_text(file), Contains("rank 0 on algo-1") && Contains("SIGSEGV"));
}

TEST_CASE("become() replaces the process and passes on arguments and environment") {
  const Captured run = capture([]() -> int {
    app::become("/bin/sh", {"-c", "echo $GREETING $0 $1", "a", "b c"},
                {{"GREETING", "hello"}, {"PATH", "/usr/bin:/bin"}});
  });
  CHECK(run.code == 0);
  CHECK(run.out == "hello a b c\n");
  REQUIRE_THROWS_WITH(app::become("/nowhere/x", {}, {}), Contains("/nowhere/x"));
}
