#include "tests/support/capture.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "base/now.h"

namespace shoal::test {

namespace {

// Kills all descendants: this process adopts the children of each child that it kills.
void kill_descendants() {
  const std::string self = std::to_string(::getpid());
  for (;;) {
    std::ifstream children("/proc/" + self + "/task/" + self + "/children");
    pid_t child = 0;
    if (!(children >> child)) return;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
}

}  // namespace

Captured capture(const std::function<int()>& function,
                 const std::function<void(pid_t)>& meanwhile) {
  int out[2], err[2];
  REQUIRE(::pipe(out) == 0);
  REQUIRE(::pipe(err) == 0);
  REQUIRE(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  const double start = now();
  // Flush, or the child would also write the output buffered so far.
  std::cout.flush();
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(err[1], STDERR_FILENO);
    for (int file : {out[0], out[1], err[0], err[1]}) ::close(file);
    // Restore the default actions. A script may run these tests in the background, with SIGINT
    // ignored, or under nohup, which ignores SIGHUP.
    for (const int signal : {SIGINT, SIGHUP}) ::signal(signal, SIG_DFL);
    int code = 97;
    try {
      code = function();
    } catch (const std::exception& error) {
      const std::string text = std::string("exception: ") + error.what();
      if (::write(STDERR_FILENO, text.data(), text.size()) < 0) code = 98;
    } catch (...) {  // a failed REQUIRE; Catch2 must not run other tests in this child
    }
    ::_exit(code);
  }
  ::close(out[1]);
  ::close(err[1]);
  Captured result;
  bool called = !meanwhile;
  pollfd files[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  std::string* texts[2] = {&result.out, &result.err};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    if (now() - start > 30) {
      ::kill(pid, SIGKILL);
      kill_descendants();
      for (const pollfd& file : files)
        if (file.fd >= 0) ::close(file.fd);
      FAIL("still running after 30 s; stdout: " << result.out << "; stderr: " << result.err);
    }
    ::poll(files, 2, 100);
    for (int i = 0; i < 2; ++i) {
      if (files[i].fd < 0 || files[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t count = ::read(files[i].fd, buffer, sizeof buffer);
      if (count > 0) {
        texts[i]->append(buffer, static_cast<size_t>(count));
      } else {
        ::close(files[i].fd);
        files[i].fd = -1;
      }
    }
    if (!called && result.out.find('\n') != result.out.npos) {
      called = true;
      meanwhile(pid);
    }
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  result.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result.seconds = now() - start;
  return result;
}

}  // namespace shoal::test
