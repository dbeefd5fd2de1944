#include "base/file/folder.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <string>

#include "tests/support/failing_calls.h"
#include "tests/support/files.h"
#include "tests/support/temporary_directory.h"

using namespace shoal;
using Catch::Matchers::Contains;

TEST_CASE("a folder is listed with its hidden entries") {
  const test::TemporaryDirectory folder;
  test::write_text(folder.path() / "a", "");
  test::write_text(folder.path() / ".b", "");
  std::filesystem::create_directory(folder.path() / "c");
  std::vector<std::string> names;
  for (const auto& entry : entries_of(folder.path())) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{".b", "a", "c"});
}

TEST_CASE("a folder that cannot be listed to its end is an error that names it") {
  const test::TemporaryDirectory folder;
  test::write_text(folder.path() / "a", "");
  const std::string missing = folder.path() / "missing";
  CHECK_THROWS_WITH(entries_of(missing), Contains(missing) && Contains("No such file"));

  const auto is_folder = [&](const std::string& path) { return path == folder.path().string(); };
  const test::FailingCalls broken("readdir", is_folder, EIO);
  CHECK_THROWS_WITH(entries_of(folder.path()),
                    Contains(folder.path().string()) && Contains("Input/output error"));
  std::error_code error;
  CHECK(entries_of(folder.path(), error).empty());
  CHECK(error == std::errc::io_error);
}
