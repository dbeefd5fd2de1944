#include "train/run/output_folder.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/support/temporary_directory.h"

using namespace shoal;
using train::OutputFolder;
namespace fs = std::filesystem;

TEST_CASE("a start that fails removes the output folder that it created, if it is still empty") {
  const test::TemporaryDirectory directory;
  const fs::path folder = directory.path() / "runs/a";
  {
    const OutputFolder output(folder);
    CHECK(is_locked(folder / ".lock"));
  }
  CHECK_FALSE(fs::exists(folder));
  {
    const OutputFolder output(folder);
    std::ofstream(folder / "config.toml") << "lr = 1";
  }
  CHECK(fs::exists(folder / "config.toml"));
  fs::remove(folder / "config.toml");
  { const OutputFolder output(folder); }
  CHECK(fs::is_directory(folder));  // it existed before
}
