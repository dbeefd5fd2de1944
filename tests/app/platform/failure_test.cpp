#include "app/platform/failure.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/log.h"
#include "tests/support/capture.h"
#include "train/job/job.h"

using namespace shoal;
using Catch::Contains;
using Catch::StartsWith;
namespace fs = std::filesystem;
using test::capture;
using test::Captured;
using test::Folder;

namespace {

template <class Error>
Captured thrown(const Error& error, const dist::Variables& environment = {}) {
  return capture([&] {
    return app::guarded_main(app::reporting(environment), [&]() -> int { throw error; });
  });
}

}  // namespace

TEST_CASE("a result passes through and prints nothing") {
  const Captured run = capture([] { return app::guarded_main({}, [] { return 143; }); });
  CHECK(run.code == 143);
  CHECK(run.out + run.err == "");
}

TEST_CASE("each kind of failure has its exit code and one line on stderr") {
  CHECK(thrown(UserError("--lr is bad")).code == app::kUsage);
  CHECK(thrown(UserError("--lr is bad")).err == "shoal: error: --lr is bad\n");
  CHECK(thrown(std::invalid_argument("RANK is not set")).code == app::kUsage);
  CHECK(thrown(app::SetupMissing("no worker")).code == app::kSetupMissing);
  CHECK(thrown(std::runtime_error("disk is gone")).code == app::kFailure);
  CHECK(
      thrown(std::runtime_error("all_reduce failed: Connection closed by peer [127.0.0.1]")).code ==
      app::kPeerLost);
  const Captured unknown = capture([] { return app::guarded_main({}, []() -> int { throw 5; }); });
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

TEST_CASE("LibTorch's internal errors are rewritten, and those a user can act on are kept") {
  for (const char* text : {"isGenericDict() INTERNAL ASSERT FAILED at "
                           "\"/pytorch/aten/src/ATen/core/ivalue_inl.h\":2119, "
                           "please report a bug to PyTorch. Expected GenericDict but got None",
                           "Argument passed to at() was not in the map.",
                           "mat1 and mat2 shapes cannot be multiplied"}) {
    INFO(text);
    CHECK_THAT(app::torch_sentence(text), Contains("--log-level debug") && !Contains("INTERNAL") &&
                                              !Contains("at()") && !Contains("mat1") &&
                                              !Contains("PyTorch"));
  }
  CHECK_THAT(app::torch_sentence("[enforce fail at alloc_cpu.cpp:118] err == 0. "
                                 "DefaultCPUAllocator: can't allocate memory: you tried to ..."),
             Contains("out of memory") && Contains("--batch-size"));
  CHECK(
      app::torch_sentence("CUDA error: unspecified launch failure\nCUDA kernel errors might be") ==
      "the GPU failed: CUDA error: unspecified launch failure");
  CHECK(
      app::is_lost_peer(app::torch_sentence("Connection closed by peer [127.0.0.1]:1\nframe #0")));
}

TEST_CASE("errors for lack of memory and a full disk say what to do") {
  CHECK_THAT(app::describe(std::bad_alloc()), Contains("--batch-size"));
  const std::filesystem::filesystem_error full("write",
                                               std::make_error_code(std::errc::no_space_on_device));
  // The message names no option, because not every command has --output.
  CHECK_THAT(app::describe(full), Contains("free disk space") && !Contains("--"));
}

TEST_CASE("an error of std::filesystem is a sentence with the path and what to do") {
  const auto denied = std::make_error_code(std::errc::permission_denied);
  const std::string one = app::describe(fs::filesystem_error("cannot check", "/a", denied));
  CHECK_THAT(one, StartsWith("cannot use /a: Permission denied; ") && Contains("permissions"));
  CHECK_THAT(app::describe(fs::filesystem_error("cannot rename", "/a", "/b", denied)),
             StartsWith("cannot use /a and /b: "));
}

TEST_CASE("with several workers, the message names the rank") {
  const Captured run = thrown(std::runtime_error("bad"), {{"RANK", "3"}, {"WORLD_SIZE", "4"}});
  CHECK(run.err == "shoal: error: rank 3: bad\n");
}

TEST_CASE("a user error is reported by one worker only, without its rank") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_NONBLOCK) == 0);
  REQUIRE(::write(ends[1], "1", 1) == 1);
  const dist::Variables worker = {
      {app::kReportVariable, std::to_string(ends[0])}, {"RANK", "1"}, {"WORLD_SIZE", "2"}};
  const Captured first = thrown(UserError("--lr is bad"), worker);
  const Captured second = thrown(UserError("--lr is bad"), worker);
  const Captured other = thrown(std::runtime_error("disk is gone"), worker);
  ::close(ends[0]);
  ::close(ends[1]);
  CHECK(first.err == "shoal: error: --lr is bad\n");
  CHECK(second.err.empty());
  CHECK(second.code == app::kUsage);
  CHECK(other.err == "shoal: error: rank 1: disk is gone\n");  // every rank reports its own failure
}

TEST_CASE("a message that begins with the rank does not repeat it") {
  const Captured run = thrown(std::runtime_error("rank 3 of 4: all_reduce failed"),
                              {{"RANK", "3"}, {"WORLD_SIZE", "4"}});
  CHECK(run.err == "shoal: error: rank 3 of 4: all_reduce failed\n");
}

TEST_CASE(
    "the failure file contains the first failure, at most 1024 bytes, and is written only in "
    "a container") {
  Folder folder;
  const dist::Variables platform = {{"SAGEMAKER_BASE_DIR", folder.text()}};
  const std::string file = app::reporting(platform).failure_file;
  CHECK(file == folder.text() + "/output/failure");
  app::write_failure_file(file, "nobody is there");
  CHECK_FALSE(std::filesystem::exists(folder / "output"));

  std::filesystem::create_directories(folder / "output");
  CHECK(thrown(std::runtime_error("first"), platform).code == app::kFailure);
  CHECK(thrown(std::runtime_error("second"), platform).code == app::kFailure);
  CHECK(test::read_text(file) == "first");
  app::write_failure_file(file, "third", /*replace=*/true);
  CHECK(test::read_text(file) == "third");
  app::clear_failure_file(file);
  CHECK_FALSE(std::filesystem::exists(file));

  std::string text(1023, 'x');
  text += "é and more";  // the limit splits a two-byte character
  app::write_failure_file(file, text);
  CHECK(test::read_text(file) == std::string(1023, 'x'));
}

TEST_CASE("a worker that only lost a peer leaves the failure file to the launcher") {
  Folder folder;
  std::filesystem::create_directories(folder / "output");
  const std::runtime_error lost("all_reduce failed: Connection closed by peer");
  dist::Variables worker = {{"SAGEMAKER_BASE_DIR", folder.text()}, {app::kReportVariable, "0"}};
  CHECK(thrown(lost, worker).code == app::kPeerLost);
  CHECK_FALSE(std::filesystem::exists(folder / "output/failure"));
  worker.erase(app::kReportVariable);  // under torchrun, the worker must write the file itself
  CHECK(thrown(lost, worker).code == app::kPeerLost);
  CHECK(std::filesystem::exists(folder / "output/failure"));
}

TEST_CASE("success leaves no failure file") {
  Folder folder;
  std::filesystem::create_directories(folder / "output");
  const dist::Variables platform = {{"SAGEMAKER_BASE_DIR", folder.text()}};
  CHECK(app::guarded_main(app::reporting(platform), [] { return 0; }) == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "output/failure"));
}

TEST_CASE("torchrun's error file contains the message") {
  Folder folder;
  const auto file = folder / "error.json";
  const auto reporting = app::reporting(
      {{"TORCHELASTIC_ERROR_FILE", file.string()}, {"SAGEMAKER_BASE_DIR", folder.text()}});
  const auto run = test::capture([&] {
    return app::guarded_main(reporting, []() -> int { throw std::runtime_error("disk \"x\""); });
  });
  CHECK(run.code == app::kFailure);
  const auto json = nlohmann::json::parse(test::read_text(file));
  CHECK(json.at("message").at("message") == "disk \"x\"");
  CHECK(json.at("message").at("extraInfo").at("timestamp").is_string());
}

TEST_CASE("success becomes an error if a line could not be written to stdout") {
  const auto printing_to = [](const char* path, int result) {
    return capture([=] {
      ::dup2(::open(path, O_WRONLY), STDOUT_FILENO);
      return app::guarded_main({}, [=] {
        log::line("a result");
        return result;
      });
    });
  };
  CHECK(printing_to("/dev/null", 0).code == 0);
  const Captured lost = printing_to("/dev/full", 0);
  CHECK(lost.code == app::kFailure);
  CHECK_THAT(lost.err,
             (Contains("standard output") && Contains("No space left")) && !Contains("--output"));
  CHECK(printing_to("/dev/full", 143).code == 143);
}

TEST_CASE("a closed pipe at stdout is no error") {
  const Captured run = capture([] {
    int ends[2];
    if (::pipe(ends) != 0) return -1;
    ::close(ends[0]);
    ::dup2(ends[1], STDOUT_FILENO);
    ::signal(SIGPIPE, SIG_IGN);
    return app::guarded_main({}, [] {
      log::line("a result");
      return 0;
    });
  });
  CHECK(run.code == 0);
  CHECK(run.err.empty());
  CHECK(app::is_lost_peer("rank 1: sending failed: Broken pipe"));
}

TEST_CASE("errors of files and downloads do not count as a lost process") {
  const auto reset = std::make_error_code(std::errc::connection_reset);
  CHECK_FALSE(app::is_lost_peer(std::system_error(reset, "cannot read x")));
  CHECK_FALSE(
      app::is_lost_peer(std::runtime_error("--weights http://h/x: Connection reset by peer")));
  CHECK(app::is_lost_peer(std::runtime_error("rank 1: Connection reset by peer")));
}

TEST_CASE("errors at limits of the system name the limit") {
  const auto text = [](int code) {
    return app::describe(std::system_error(code, std::generic_category(), "opening a file"));
  };
  CHECK_THAT(text(EMFILE), Contains("opening a file") && Contains("ulimit -n"));
  CHECK_THAT(text(EFBIG), Contains("ulimit -f"));
  CHECK_THAT(text(EAGAIN), Contains("ulimit -u") && !Contains("ulimit -v"));
  CHECK_THAT(text(EACCES), !Contains("ulimit"));
  const Captured limited = capture([&] {
    const rlimit space{rlim_t{1} << 46, rlim_t{1} << 46};  // more than the address sanitizer uses
    ::setrlimit(RLIMIT_AS, &space);
    app::print_error(text(EAGAIN));
    return app::guarded_main({}, []() -> int { throw std::bad_alloc(); });
  });
  const auto lines = split(limited.err, '\n');
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], Contains("ulimit -u") && Contains("ulimit -v"));
  CHECK_THAT(lines[1], Contains("out of memory") && Contains("ulimit -v"));
}
