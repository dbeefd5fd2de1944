#include "base/whole_file.h"

#include <signal.h>
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "tests/support/temporary_directory.h"

using namespace shoal;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& path) {
  const auto bytes = read_whole_file(path);
  return {bytes.begin(), bytes.end()};
}

size_t files_in(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

// Acts like a full disk: no file can grow beyond `bytes` during its lifetime.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace

TEST_CASE("a file is replaced as a whole, and no other file remains") {
  const test::TemporaryDirectory directory;
  const fs::path file = directory.path() / "file";
  write_whole(file, "first");
  CHECK(text_of(file) == "first");
  write_whole(file, [](const ByteSink& sink) {
    sink("sec", 3);
    sink("ond", 3);
  });
  CHECK(text_of(file) == "second");
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
    const SmallFiles full(100);
    CHECK_THROWS_WITH(write_whole(file, std::string(1000, 'x')),
                      Contains(file.string()) && Contains("too large"));
  }
  CHECK(text_of(file) == "old");
  CHECK(files_in(directory.path()) == 1);
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
                CHECK(files_in(aside) == 1);
              },
              {.aside = aside});
  CHECK(text_of(place / "file") == "x");
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
        CHECK(text_of(file) == "inner");
        sink("er", 2);
      },
      concurrent);
  CHECK(text_of(file) == "outer");
  CHECK(files_in(directory.path()) == 1);
}

TEST_CASE("a finished file is moved into place") {
  const test::TemporaryDirectory directory;
  const fs::path part = directory.path() / "part", file = directory.path() / "file";
  write_whole(part, "x", {.flush = false});
  flush_file_system(directory.path());
  move_into_place(part, file);
  CHECK(text_of(file) == "x");
  CHECK(files_in(directory.path()) == 1);
  CHECK_THROWS_WITH(move_into_place(part, file), Contains(file.string()));
}
