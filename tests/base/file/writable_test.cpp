#include "base/file/writable.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "base/error.h"
#include "tests/support/temporary_directory.h"

using namespace shoal;
using Catch::Contains;
namespace fs = std::filesystem;

TEST_CASE("a folder for results must be writable, and the check does not create it") {
  const test::TemporaryDirectory directory;
  const fs::path deep = directory.path() / "a/b", file = directory.path() / "file";
  std::ofstream(file) << "x";
  require_writable_folder("--output", deep);
  CHECK_FALSE(fs::exists(directory.path() / "a"));
  require_writable_folder("--output", directory.path());
  CHECK_THROWS_AS(require_writable_folder("--output", "/proc/x"), UserError);
  CHECK_THROWS_WITH(require_writable_folder("--output", "/proc/x"),
                    Contains("--output /proc/x") && Contains("cannot write to /proc"));
  CHECK_THROWS_WITH(require_writable_folder("--output", file / "run"), Contains("is a file"));
}

TEST_CASE("a file for results needs an existing, writable folder") {
  const test::TemporaryDirectory directory;
  require_writable_file("--output", directory.path() / "a.csv");
  require_writable_file("--output", "a.csv");
  CHECK_THROWS_AS(require_writable_file("--output", "/proc/a.csv"), UserError);
  CHECK_THROWS_WITH(require_writable_file("--output", "/proc/a.csv"),
                    Contains("--output /proc/a.csv") && Contains("cannot write to /proc"));
  CHECK_THROWS_WITH(require_writable_file("--output", directory.path()), Contains("is a folder"));
  CHECK_THROWS_WITH(require_writable_file("--output", directory.path() / "none/a.csv"),
                    Contains("create it first"));
}
