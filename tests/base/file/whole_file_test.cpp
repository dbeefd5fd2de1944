#include "base/file/whole_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "tests/support/capture.h"
#include "tests/support/failing_calls.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/files.h"
#include "tests/support/temporary_directory.h"

using namespace shoal;
using Catch::Contains;
using test::read_text;
namespace fs = std::filesystem;

namespace {

size_t files_in(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

}  // namespace

TEST_CASE("a file is replaced as a whole, and no other file remains") {
  const test::TemporaryDirectory directory;
  const fs::path file = directory.path() / "file";
  write_whole(file, "first");
  CHECK(read_text(file) == "first");
  write_whole(file, [](const ByteSink& sink) {
    sink("sec", 3);
    sink("ond", 3);
  });
  CHECK(read_text(file) == "second");
  CHECK(files_in(directory.path()) == 1);
}

TEST_CASE("a failure while writing leaves the old bytes and no temporary file") {
  const test::TemporaryDirectory directory;
  const fs::path file = directory.path() / "file";
  write_whole(file, "old");
  CHECK_THROWS_WITH(write_whole(file,
                                [](const ByteSink& sink) {
                                  sink("half", 4);
                                  throw std::runtime_error("no more");
                                }),
                    "no more");
  {
    const test::FileSizeLimit full(100);
    CHECK_THROWS_WITH(write_whole(file, std::string(1000, 'x')),
                      Contains(file.string()) && Contains("too large"));
  }
  CHECK(read_text(file) == "old");
  CHECK(files_in(directory.path()) == 1);
}

TEST_CASE("a signal during a flush does not fail the write") {
  const test::TemporaryDirectory directory;
  const fs::path file = directory.path() / "file";
  const test::FailingCalls interrupted(
      "fsync", [](const std::string&) { return true; }, EINTR, 2);
  write_whole(file, "x");
  CHECK(interrupted.count() == 2);
  CHECK(read_text(file) == "x");
}

TEST_CASE("a path that cannot be written or read is reported with the reason") {
  const test::TemporaryDirectory directory;
  const fs::path missing = directory.path() / "no" / "file";
  CHECK_THROWS_WITH(write_whole(missing, "x"),
                    Contains(missing.string()) && Contains("No such file"));
  CHECK_THROWS_WITH(read_whole_file(missing),
                    Contains(missing.string()) && Contains("No such file"));
  fs::create_directories(directory.path() / "folder");
  CHECK_THROWS_WITH(write_whole(directory.path() / "folder", "x"), Contains("folder"));
  CHECK(files_in(directory.path()) == 1);
}

TEST_CASE("the temporary file may be in another folder") {
  const test::TemporaryDirectory directory;
  const fs::path aside = directory.path() / "aside", place = directory.path() / "place";
  fs::create_directories(aside);
  fs::create_directories(place);
  write_whole(place / "file",
              [&](const ByteSink& sink) {
                sink("x", 1);
                CHECK(files_in(place) == 0);
                CHECK(fs::exists(aside / ".file.part"));
              },
              {.aside = aside});
  CHECK(read_text(place / "file") == "x");
  CHECK(files_in(aside) == 0);
}

TEST_CASE("writers at the same time do not disturb each other") {
  const test::TemporaryDirectory directory;
  const fs::path file = directory.path() / "file";
  const WholeFileOptions concurrent = {.concurrent = true};
  write_whole(
      file,
      [&](const ByteSink& sink) {
        sink("out", 3);
        write_whole(file, "inner", concurrent);
        CHECK(read_text(file) == "inner");
        sink("er", 2);
      },
      concurrent);
  CHECK(read_text(file) == "outer");
  CHECK(files_in(directory.path()) == 1);
}

TEST_CASE("a finished file is moved into place") {
  const test::TemporaryDirectory directory;
  const fs::path part = directory.path() / "part", file = directory.path() / "file";
  write_whole(part, "x", {.flush = false});
  flush_file_system(directory.path());
  move_into_place(part, file);
  CHECK(read_text(file) == "x");
  CHECK(files_in(directory.path()) == 1);
  CHECK_THROWS_WITH(move_into_place(part, file), Contains(file.string()));
}

TEST_CASE("pieces of all sizes arrive in order, and few system calls write them") {
  const test::TemporaryDirectory directory;
  const fs::path file = directory.path() / "file";
  std::string expected;
  const test::FailingCalls interrupted(
      "write", [](const std::string& path) { return path.ends_with(".file.part"); }, EINTR, 3);
  write_whole(file, [&](const ByteSink& sink) {
    for (size_t i = 0; i < 5000; ++i) {
      const std::string piece(i % 1000 == 999 ? 1'500'000 : i % 700,
                              static_cast<char>('a' + i % 26));
      sink(piece.data(), piece.size());
      expected += piece;
    }
  });
  CHECK(read_text(file) == expected);
  CHECK(interrupted.count() == 3);
  CHECK(interrupted.seen() < 20);
}

TEST_CASE("an error of the system has its code") {
  const test::TemporaryDirectory directory;
  const fs::path file = directory.path() / "file";
  const test::FailingCalls full(
      "write", [&](const std::string& path) { return path.ends_with(".file.part"); }, ENOSPC);
  std::error_code code;
  try {
    write_whole(file, "x");
  } catch (const std::system_error& error) {
    code = error.code();
  }
  CHECK(code == std::errc::no_space_on_device);
  CHECK(files_in(directory.path()) == 0);
}

TEST_CASE("a file whose close fails does not replace the old one") {
  const test::TemporaryDirectory directory;
  const fs::path file = directory.path() / "file";
  write_whole(file, "old");
  const test::FailingCalls quota(
      "close", [&](const std::string& path) { return path.ends_with(".file.part"); }, EDQUOT);
  CHECK_THROWS_WITH(write_whole(file, "new"), Contains(file.string()) && Contains("quota"));
  CHECK(read_text(file) == "old");
  CHECK(files_in(directory.path()) == 1);
}

TEST_CASE("a file system that cannot flush folders gets a warning, one that fails an error") {
  const test::TemporaryDirectory directory;
  const fs::path folder = directory.path();
  const auto is_folder = [&](const std::string& path) { return path == folder.string(); };
  const auto written = test::capture([&] {
    for (const int error : {EINVAL, ENOTSUP}) {
      const test::FailingCalls failing("fsync", is_folder, error);
      write_whole(folder / "file", std::to_string(error));
      if (failing.count() != 1) return 1;
    }
    for (const int error : {EINVAL, ENOSYS}) {
      const test::FailingCalls failing("syncfs", is_folder, error);
      flush_file_system(folder);
      if (failing.count() != 1) return 2;
    }
    return 0;
  });
  CHECK(written.code == 0);
  CHECK_THAT(written.err, Contains(folder.string()) && Contains("power loss"));
  CHECK(std::ranges::count(written.err, '\n') == 1);
  CHECK(read_text(folder / "file") == std::to_string(ENOTSUP));
  const test::FailingCalls broken("fsync", is_folder, EIO);
  CHECK_THROWS_WITH(write_whole(folder / "file", "x"), Contains("Input/output"));
}

TEST_CASE("a file system that cannot be flushed because of an error is an error") {
  const test::TemporaryDirectory directory;
  const test::FailingCalls broken(
      "syncfs", [](const std::string&) { return true; }, EIO);
  CHECK_THROWS_WITH(flush_file_system(directory.path()),
                    Contains(directory.path().string()) && Contains("Input/output"));
}

TEST_CASE("a folder that cannot be opened to flush it is an error") {
  const test::TemporaryDirectory directory;
  const fs::path file = directory.path() / "file";
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
  const auto open_no_more = [&] {
    const rlimit none{0, usual.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  };
  CHECK_THROWS_WITH(
      write_whole(file, "x", {.before_rename = open_no_more}),
      Contains("flush " + directory.path().string()) && Contains("Too many open files"));
  ::setrlimit(RLIMIT_NOFILE, &usual);
  CHECK(read_text(file) == "x");
}

TEST_CASE("a folder from which files cannot be renamed is recognized") {
  const test::TemporaryDirectory directory;
  const fs::path here = directory.path() / "here", there = directory.path() / "there";
  fs::create_directories(here);
  fs::create_directories(there);
  CHECK(can_rename(here, there));
  CHECK_FALSE(can_rename(directory.path() / "none", there));
  {
    const test::FailingCalls mounts(
        "rename", [](const std::string&) { return true; }, EXDEV);
    CHECK_FALSE(can_rename(here, there));
  }
  CHECK(files_in(here) + files_in(there) == 0);
}

TEST_CASE("only temporary files of the named files are removed") {
  const test::TemporaryDirectory directory;
  for (const char* name : {".a.part", ".b.part", "a", "a.part", ".a", ".part"})
    write_whole(directory.path() / name, "x");
  remove_parts(directory.path(), [](const fs::path& name) { return name == "a"; });
  CHECK_FALSE(fs::exists(directory.path() / ".a.part"));
  CHECK(files_in(directory.path()) == 5);
}

TEST_CASE("writing to a device, a pipe or redirected output does not replace it") {
  const test::TemporaryDirectory directory;
  const fs::path pipe = directory.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(reader >= 0);
  write_whole(pipe, "text");
  char got[8] = {};
  CHECK(::read(reader, got, sizeof got) == 4);
  ::close(reader);
  CHECK(std::string(got) == "text");
  CHECK(fs::is_fifo(pipe));
  const fs::path redirected = directory.path() / "redirected";
  write_whole(redirected, "a");
  const int descriptor = ::open(redirected.c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(descriptor >= 0);
  const fs::path link = directory.path() / "stdout";
  fs::create_symlink("/proc/self/fd/" + std::to_string(descriptor), link);
  write_whole(link, "b");
  write_whole("/proc/self/fd/" + std::to_string(descriptor), "c");
  write_whole("/dev/fd/" + std::to_string(descriptor), "d");
  ::close(descriptor);
  CHECK(read_text(redirected) == "abcd");
  CHECK(fs::is_symlink(link));
  CHECK(files_in(directory.path()) == 3);
  CHECK_THROWS_WITH(write_whole("/dev/full", "text"), Contains("/dev/full"));
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("a file whose reading fails is not an empty file") {
  const test::TemporaryDirectory folder;  // a folder can be opened but not read
  CHECK_FALSE(read_if_readable(folder.path()));
  CHECK_THROWS_AS(read_lines(folder.path()), std::system_error);
}
