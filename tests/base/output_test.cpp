#include "base/output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

#include "base/now.h"

using namespace shoal;

TEST_CASE("output waits for a slow reader, but not for long after limit_output_waits()") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const std::string text(1 << 20, 'x');  // more than a pipe holds
  // With ThreadSanitizer, the child's _exit() would flush stdout's buffer to the full pipe.
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    // The parent reads exactly this text.
    if (write_output(STDOUT_FILENO, text.data(), text.size()) != 0) ::_exit(1);
    ::signal(SIGALRM, [](int) { limit_output_waits(); });
    ::alarm(1);
    const double start = now();
    write_output(STDOUT_FILENO, text.data(), text.size());  // nobody reads
    if (now() - start > 20) ::_exit(2);                     // expected: about 2 s
    ::_exit(write_output(STDOUT_FILENO, text.data(), text.size()));
  }
  ::close(ends[1]);
  // Reads nothing until the pipe is full, so that the child must wait. poll() returns 1 if the
  // child has exited.
  pollfd reader{ends[0], 0, 0};
  for (int held = 0; held < ::fcntl(ends[0], F_GETPIPE_SZ) && ::poll(&reader, 1, 1) == 0;)
    REQUIRE(::ioctl(ends[0], FIONREAD, &held) == 0);
  std::string read;
  char block[4096];
  while (read.size() < text.size()) {
    const ssize_t count = ::read(ends[0], block, std::min(sizeof block, text.size() - read.size()));
    REQUIRE(count > 0);
    read.append(block, static_cast<size_t>(count));
  }
  CHECK(read == text);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  ::close(ends[0]);
}
