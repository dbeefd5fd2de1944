#include <catch2/catch.hpp>

#include "base/process/proc.h"
#include "tests/support/files.h"
#include "tests/support/temporary_directory.h"

using namespace shoal;

TEST_CASE("values, numbers and the first line are read from files like those of /proc") {
  const test::TemporaryDirectory folder;
  const auto file = folder.path() / "status";
  test::write_text(file,
                   "Name:\tx\nempty:\nmodel name\t: A: 1\nmodel name\t: B\n"
                   "MemFree:   120 kB\n");
  CHECK(proc_value(file, "Name") == "x");
  CHECK(proc_value(file, "model name") == "A: 1");
  CHECK(proc_value(file, "empty").empty());
  CHECK(proc_value(file, "other").empty());
  CHECK(proc_value(folder.path() / "none", "Name").empty());
  CHECK(proc_number(file, "MemFree") == 120);
  CHECK(proc_number(file, "Name") == -1);
  CHECK(proc_number(file, "other") == -1);
  CHECK(first_line(file) == "Name:\tx");
  CHECK(first_line(folder.path() / "none").empty());
}

TEST_CASE("the folder of the running program contains it") {
  CHECK(std::filesystem::exists(program_folder() / "base_tests"));
}
