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

  for (const char* name : {"b", "c", "d"}) test::write_text(folder.path() / name, "");
  int calls = 0;
  const auto fifth = [&](const std::string& path) {
    return path == folder.path().string() && ++calls >= 5;  // of 6 entries, including . and ..
  };
  const test::FailingCalls broken("readdir", fifth, EIO);
  CHECK_THROWS_WITH(entries_of(folder.path()),
                    Contains(folder.path().string()) && Contains("Input/output error"));
  calls = 0;
  std::error_code error;
  const size_t read = entries_of(folder.path(), error).size();
  CHECK((read >= 2 && read <= 4));
  CHECK(error == std::errc::io_error);
}

TEST_CASE("a path is inside a folder as written, or after following links") {
  namespace fs = std::filesystem;
  const test::TemporaryDirectory folder;
  const fs::path images = folder.path() / "images", other = folder.path() / "other";
  fs::create_directories(images / "cat");
  fs::create_directory(other);
  fs::create_directory_symlink(images / "cat", other / "in");
  fs::create_directory_symlink(other, images / "out");
  fs::create_directory_symlink(images, folder.path() / "link");
  const std::string slash = images.string() + "/";
  for (const fs::path& path : {images, images / "new/run", other / "../images", other / "in",
                               other / "in/new", images / "out", folder.path() / "link/cat"}) {
    INFO(path);
    CHECK(is_inside(path, images));
    CHECK(is_inside(path, slash));
  }
  CHECK(is_inside(images / "new", folder.path() / "link"));
  for (const fs::path& path :
       {folder.path(), other, images / "../other", folder.path() / "images2", fs::path()})
    CHECK_FALSE(is_inside(path, images));
  CHECK_FALSE(is_inside(images, ""));
  CHECK(is_inside("shoal-new/run", "shoal-new"));
  CHECK_FALSE(is_inside("shoal-new", "shoal-new/run"));
}
