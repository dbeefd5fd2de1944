#include "data/stream/pipe_source.h"

#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <future>

#include "tests/data/stream/support.h"

using namespace shoal::data;
using Catch::Contains;

namespace {

const PipePatience kShort{0.3, 0.3};
constexpr std::chrono::milliseconds kWhile(100);

std::string read_rest(PipeSource& source) {
  std::string text(100'000, '\0');
  text.resize(source.read(text.data(), text.size()));
  return text;
}

}  // namespace

TEST_CASE("a pipe gives what its writer wrote, to the end") {
  const TempFolder folder;
  make_pipe(folder / "p");
  WriterProcess writer(folder / "p", std::string(300'000, 'a') + "end");
  PipeSource source(folder / "p", std::make_shared<Interrupt>(), {});
  CHECK(source.skip(299'999) == 299'999);
  CHECK(read_rest(source) == "aend");
  CHECK(source.position() == 300'003);
  CHECK(read_rest(source).empty());
  CHECK(writer.wait() == 0);
}

TEST_CASE("a pipe may be created after the first read") {
  const TempFolder folder;
  auto text = std::async(std::launch::async, [&] {
    PipeSource source(folder / "late", std::make_shared<Interrupt>(), {});
    return read_rest(source);
  });
  CHECK(text.wait_for(kWhile) == std::future_status::timeout);
  make_pipe(folder / "late");
  CHECK(text.wait_for(kWhile) == std::future_status::timeout);  // the pipe has no writer yet
  WriterProcess writer(folder / "late", "here");
  CHECK(text.get() == "here");
}

TEST_CASE("a writer that closes without a byte ends the stream") {
  const TempFolder folder;
  make_pipe(folder / "p");
  WriterProcess writer(folder / "p", "");
  PipeSource source(folder / "p", std::make_shared<Interrupt>(), {});
  CHECK(read_rest(source).empty());
}

TEST_CASE("waiting for the pipe, its writer or its bytes ends after a timeout", "[slow]") {
  const TempFolder folder;
  PipeSource missing(folder / "none", std::make_shared<Interrupt>(), kShort);
  CHECK_THROWS_WITH(read_rest(missing), Contains("none has not appeared"));
  make_pipe(folder / "p");
  PipeSource lonely(folder / "p", std::make_shared<Interrupt>(), kShort);
  CHECK_THROWS_WITH(read_rest(lonely), Contains("has had no writer"));
  WriterProcess writer(folder / "p", [](int descriptor) {
    write_text(descriptor, "abc");
    ::pause();
  });
  PipeSource stalled(folder / "p", std::make_shared<Interrupt>(), {10, 0.3});
  CHECK_THROWS_WITH(read_rest(stalled), Contains("nothing") && Contains("at byte 0"));
  make_pipe(folder / "q");
  WriterProcess silent(folder / "q", [](int) { ::pause(); });
  PipeSource mute(folder / "q", std::make_shared<Interrupt>(), {10, 0.3});
  CHECK_THROWS_WITH(read_rest(mute), Contains("q has sent nothing"));
  PipeSource folder_itself(folder.path(), std::make_shared<Interrupt>(), kShort);
  CHECK_THROWS_WITH(read_rest(folder_itself), Contains("neither a pipe nor a file"));
}

TEST_CASE("an interrupt ends a wait at once") {
  const TempFolder folder;
  make_pipe(folder / "p");
  for (const char* name : {"none", "p"}) {
    const auto interrupt = std::make_shared<Interrupt>();
    auto text = std::async(std::launch::async, [&] {
      PipeSource source(folder / name, interrupt, {});
      return read_rest(source);
    });
    CHECK(text.wait_for(kWhile) == std::future_status::timeout);
    interrupt->raise();
    CHECK_THROWS_AS(text.get(), Interrupted);
  }
}

TEST_CASE("a reader that stops early releases its writer") {
  const TempFolder folder;
  make_pipe(folder / "p");
  WriterProcess writer(folder / "p", std::string(10'000'000, 'a'));
  {
    PipeSource source(folder / "p", std::make_shared<Interrupt>(), {});
    char first = 0;
    CHECK(source.read(&first, 1) == 1);
  }
  CHECK(writer.wait() == 128 + SIGPIPE);
}

TEST_CASE("a peek does not consume bytes") {
  const TempFolder folder;
  folder.write("f", std::string("0123456789"));
  PipeSource file(folder / "f", std::make_shared<Interrupt>(), {});
  PeekSource source(file);
  CHECK(source.peek(4) == Bytes{'0', '1', '2', '3'});
  std::string text(3, ' ');
  CHECK(source.read(text.data(), 3) == 3);
  CHECK((text == "012" && source.position() == 3));
  CHECK(source.peek(2) == Bytes{'3', '4'});
  text.resize(20);
  CHECK(source.read(text.data(), 20) == 7);
  CHECK(text.substr(0, 7) == "3456789");
  CHECK(source.peek(1).empty());
}
