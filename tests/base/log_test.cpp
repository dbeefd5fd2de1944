#include "base/log.h"

#include <catch2/catch.hpp>
#include <regex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support/capture.h"

using namespace shoal;
using Catch::Contains;
using shoal::test::capture;

TEST_CASE("strf formats like printf at any length") {
  CHECK(strf("%s %3d|%.2f", "a", 7, 1.5) == "a   7|1.50");
  CHECK(strf("%s", std::string(10000, 'x').c_str()).size() == 10000);
  CHECK(strf("%s", "").empty());
}

TEST_CASE("metric lines go to stdout unchanged, messages to stderr with a time") {
  const auto run = capture([] {
    log::line("train:loss=1.0;");
    log::info("hello {} %v");
    log::info_lines("two\nlines");
    log::info("a name\nwith \033[31mred\033[0m");
    log::status("a bar");  // prints nothing, because stderr is not a terminal
    log::status("");
    return 0;
  });
  CHECK(run.out == "train:loss=1.0;\n");
  const std::regex expected(
      R"(\d\d:\d\d:\d\d\.\d\d\d info hello \{\} %v\n)"
      R"(\d\d:\d\d:\d\d\.\d\d\d info two\n)"
      R"(\d\d:\d\d:\d\d\.\d\d\d info lines\n)"
      R"(\d\d:\d\d:\d\d\.\d\d\d info a name\\nwith \\x1b\[31mred\\x1b\[0m\n)");
  CHECK(std::regex_match(run.err, expected));
}

TEST_CASE("a level hides messages below it") {
  const auto print_all = [](const char* level, int rank) {
    return capture([=] {
      log::set_level(level, rank);
      log::debug("d");
      log::info("i");
      log::warning("w");
      log::error("e");
      return 0;
    });
  };
  const auto count = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  CHECK(count(print_all("debug", 0).err) == 4);
  CHECK(count(print_all("info", 0).err) == 3);
  CHECK(count(print_all("warning", 0).err) == 2);
  CHECK(count(print_all("error", 0).err) == 1);
  CHECK_THROWS_AS(log::set_level("loud", 0), std::invalid_argument);
}

TEST_CASE("other ranks print only warnings and errors, with their rank") {
  const auto run = capture([] {
    log::set_level("debug", 2);
    log::debug("d");
    log::info("i");
    log::warning("w");
    return 0;
  });
  CHECK_THAT(run.err, Contains("warning [rank 2] w\n") && !Contains("info"));
}

TEST_CASE("lines printed by many threads are not mixed") {
  const auto run = capture([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < 200; ++i) log::line(std::string(60, static_cast<char>('a' + t)));
      });
    }
    for (std::thread& thread : threads) thread.join();
    return 0;
  });
  CHECK(run.out.size() == 4 * 200 * 61);
  for (size_t at = 0; at < run.out.size(); at += 61) {
    const std::string line = run.out.substr(at, 61);
    REQUIRE(line == std::string(60, line[0]) + "\n");
  }
}
