#include "app/failure.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <new>

#include "capture.h"
#include "train/job.h"

using namespace shoal;
using Catch::Contains;
using test::capture;
using test::Captured;
using test::Folder;

namespace {

template <class Error>
Captured thrown(const Error& error) {
  return capture([&] { return app::guarded_main([&]() -> int { throw error; }); });
}

}  // namespace

TEST_CASE("a result passes through and prints nothing") {
  const Captured run = capture([] { return app::guarded_main([] { return 143; }); });
  CHECK(run.code == 143);
  CHECK(run.out + run.err == "");
}

TEST_CASE("each kind of failure has its exit code and one line on stderr") {
  CHECK(thrown(train::UserError("--lr is bad")).code == app::kUsage);
  CHECK(thrown(train::UserError("--lr is bad")).err == "shoal: error: --lr is bad\n");
  CHECK(thrown(std::invalid_argument("RANK is not set")).code == app::kUsage);
  CHECK(thrown(app::SetupMissing("no worker")).code == app::kSetupMissing);
  CHECK(thrown(std::runtime_error("disk is gone")).code == app::kFailure);
  CHECK(
      thrown(std::runtime_error("all_reduce failed: Connection closed by peer [127.0.0.1]")).code ==
      app::kPeerLost);
  const Captured unknown = capture([] { return app::guarded_main([]() -> int { throw 5; }); });
  CHECK(unknown.code == app::kFailure);
  CHECK_THAT(unknown.err, Contains("shoal: error: "));
}

TEST_CASE("a message is one line without LibTorch's back-trace") {
  const std::runtime_error torch(
      "The size of tensor a (3) must match b (4)\nException raised from f at g.cpp:1\nframe #0");
  CHECK(app::describe(torch) == "The size of tensor a (3) must match b (4)");
  CHECK(app::describe(std::runtime_error("one\ntwo\n")) == "one two");
  CHECK_FALSE(app::describe(std::runtime_error("")).empty());
}

TEST_CASE("out of memory and a full disk say what to do") {
  CHECK_THAT(app::describe(std::bad_alloc()), Contains("--batch-size"));
  const std::filesystem::filesystem_error full("write",
                                               std::make_error_code(std::errc::no_space_on_device));
  CHECK_THAT(app::describe(full), Contains("--output"));
}

TEST_CASE("a worker of several names its rank") {
  const Captured run = capture([] {
    ::setenv("RANK", "3", 1);
    ::setenv("WORLD_SIZE", "4", 1);
    return app::guarded_main([]() -> int { throw std::runtime_error("bad"); });
  });
  CHECK(run.err == "shoal: error: rank 3: bad\n");
}

TEST_CASE("of several workers one names the user's mistake, without its rank") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_NONBLOCK) == 0);
  REQUIRE(::write(ends[1], "1", 1) == 1);
  ::setenv(app::kReportVariable, std::to_string(ends[0]).c_str(), 1);
  ::setenv("RANK", "1", 1);
  ::setenv("WORLD_SIZE", "2", 1);
  const Captured first = thrown(train::UserError("--lr is bad"));
  const Captured second = thrown(train::UserError("--lr is bad"));
  const Captured other = thrown(std::runtime_error("disk is gone"));
  for (const char* name : {app::kReportVariable, "RANK", "WORLD_SIZE"}) ::unsetenv(name);
  ::close(ends[0]);
  ::close(ends[1]);
  CHECK(first.err == "shoal: error: --lr is bad\n");
  CHECK(second.err.empty());
  CHECK(second.code == app::kUsage);
  CHECK(other.err == "shoal: error: rank 1: disk is gone\n");  // failures are every rank's own
}

TEST_CASE("a message that begins with its rank does not say it twice") {
  const Captured run = capture([] {
    ::setenv("RANK", "3", 1);
    ::setenv("WORLD_SIZE", "4", 1);
    return app::guarded_main(
        []() -> int { throw std::runtime_error("rank 3 of 4: all_reduce failed"); });
  });
  CHECK(run.err == "shoal: error: rank 3 of 4: all_reduce failed\n");
}

TEST_CASE(
    "the failure file holds the first failure, at most 1024 bytes, and only where the platform "
    "is") {
  Folder folder;
  ::setenv("SAGEMAKER_BASE_DIR", folder.text().c_str(), 1);
  app::write_failure_file("nobody is there");
  CHECK_FALSE(std::filesystem::exists(folder / "output"));

  std::filesystem::create_directories(folder / "output");
  CHECK(thrown(std::runtime_error("first")).code == app::kFailure);
  CHECK(thrown(std::runtime_error("second")).code == app::kFailure);
  CHECK(test::read_text(folder / "output/failure") == "first");
  app::write_failure_file("third", /*replace=*/true);
  CHECK(test::read_text(folder / "output/failure") == "third");
  app::clear_failure_file();
  CHECK_FALSE(std::filesystem::exists(folder / "output/failure"));

  std::string text(1023, 'x');
  text += "é and more";  // the limit falls into a character of two bytes
  app::write_failure_file(text);
  CHECK(test::read_text(folder / "output/failure") == std::string(1023, 'x'));
  ::unsetenv("SAGEMAKER_BASE_DIR");
}

TEST_CASE("success leaves no failure file") {
  Folder folder;
  std::filesystem::create_directories(folder / "output");
  ::setenv("SAGEMAKER_BASE_DIR", folder.text().c_str(), 1);
  CHECK(app::guarded_main([] { return 0; }) == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "output/failure"));
  ::unsetenv("SAGEMAKER_BASE_DIR");
}
