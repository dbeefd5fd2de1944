// Tests the tree that `cmake --install` makes: it runs from any folder, with its own LibTorch.

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/program.h"

using namespace shoal;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

// Runs a program in `folder`, without environment variables that could help it find libraries.
std::string printed(const fs::path& folder, const Words& words) {
  const auto outcome = test::run_program(
      "env",
      test::joined({"-u", "LD_LIBRARY_PATH", "-u", "LD_PRELOAD", "-C", folder.string()}, words));
  INFO(test::joined({}, words).front() << "\n" << outcome.out << outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return outcome.out;
}

}  // namespace

TEST_CASE("an installed tree that was moved trains with the LibTorch inside it") {
  const test::TemporaryDirectory directory;
  const fs::path root = directory.path(), first = root / "first", tree = root / "moved";
  printed(root, {"cmake", "--install", SHOAL_BINARY_DIR, "--prefix", first.string(), "--component",
                 "shoal"});
  fs::rename(first, tree);
  const std::string shoal = (tree / "bin/shoal").string();

  CHECK_THAT(printed("/", {shoal, "--version"}), Contains("shoal ") && Contains("("));
  for (const char* library : {"libtorch_cpu.so", "libc10.so"})
    CHECK_THAT(printed("/", {"ldd", (tree / "bin/shoal-worker").string()}),
               Contains(" => " + (tree / "bin/../lib/shoal/torch/lib" / library).string()));
  for (const char* program : {"bin/shoal", "bin/shoal-worker", "bin/shoal-report"})
    CHECK_THAT(printed("/", {"ldd", (tree / program).string()}), !Contains("libpython"));
  for (const char* file :
       {"share/man/man1/shoal.1", "share/man/man1/shoal-train.1",
        "share/bash-completion/completions/shoal", "share/zsh/site-functions/_shoal",
        "share/zsh/vendor-completions/_shoal", "share/fish/vendor_completions.d/shoal.fish",
        "share/doc/shoal/LICENSE", "share/doc/shoal/options.md"}) {
    INFO(file);
    CHECK(fs::file_size(tree / file) > 100);
  }

  test::make_images(root / "data", 8, 4, 2, 40);
  printed(root, {shoal, "train", "--data", "data", "--output", "run", "--model", "efficientnet_b0",
                 "--size", "32", "--batch-size", "4", "--max-steps", "1", "--nproc", "1"});
  CHECK(fs::exists(root / "run/summary.json"));
  printed(root, {shoal, "report", "run", "--output", "page.html"});
  CHECK(fs::file_size(root / "page.html") > 10'000);
}
