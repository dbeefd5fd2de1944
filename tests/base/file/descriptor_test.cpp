#include "base/file/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "tests/support/capture.h"
#include "tests/support/files.h"
#include "tests/support/temporary_directory.h"

using namespace shoal;

TEST_CASE("files do not get the numbers of closed standard descriptors") {
  const test::Captured run = test::capture([] {
    for (const int number : {0, 1, 2}) ::close(number);
    open_standard_files();
    const int next = ::open("/dev/null", O_RDONLY);
    return next > 2 && write_all(1, "a", 1) == 0 && write_all(2, "a", 1) == 0 ? 0 : 1;
  });
  CHECK(run.code == 0);
}

TEST_CASE("open standard descriptors stay as they are") {
  const test::Captured run = test::capture([] {
    ::close(0);
    open_standard_files();
    return write_all(1, "out", 3) + write_all(2, "err", 3);
  });
  CHECK(run.code == 0);
  CHECK(run.out == "out");
  CHECK(run.err == "err");
}

TEST_CASE("read_at() and read_some() stop at the end of the file") {
  const test::TemporaryDirectory folder;
  test::write_text(folder.path() / "file", "0123456789");
  const Descriptor file = open_file((folder.path() / "file").c_str(), O_RDONLY);
  char bytes[8] = {};
  CHECK(read_at(file.number(), bytes, 3, 6) == 3);
  CHECK(std::string(bytes) == "678");
  CHECK(read_at(file.number(), bytes, sizeof bytes, 8) == 2);
  CHECK(read_at(file.number(), bytes, sizeof bytes, 10) == 0);
  CHECK(read_some(file.number(), bytes, sizeof bytes) == 8);
  CHECK(read_some(file.number(), bytes, sizeof bytes) == 2);
  CHECK(read_some(file.number(), bytes, sizeof bytes) == 0);
  CHECK(read_at(-1, bytes, 1, 0) == -1);
  CHECK(read_some(-1, bytes, 1) == -1);
}

TEST_CASE("a full pipe that does not block is waited for") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_NONBLOCK) == 0);
  const std::string text(1 << 20, 'x');  // larger than a pipe's buffer
  size_t received = 0;
  ::fcntl(ends[0], F_SETFL, 0);
  std::thread reader([&] {
    char part[4096];
    for (ssize_t n; (n = ::read(ends[0], part, sizeof part)) > 0;)
      received += static_cast<size_t>(n);
  });
  CHECK(write_all(ends[1], text.data(), text.size()) == 0);
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  CHECK(received == text.size());
}
