// Tests the .deb that cpack makes: it contains the libraries that the programs need, and trains
// without the build.

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <regex>

#include "tests/support/program.h"

using namespace shoal;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

// Runs a program and returns its output.
std::string printed(const Words& words) {
  const auto outcome = test::run_program(words.front(), Words(words.begin() + 1, words.end()));
  INFO(test::joined({}, words).back() << "\n" << outcome.out << outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return outcome.out;
}

// Makes the package and unpacks it. Returns the folder that contains bin and lib. Where NVIDIA's
// libraries are beside LibTorch, leaves out the component `cuda`, which takes gigabytes.
// Elsewhere, cpack itself must do that (cmake/Package.cmake).
fs::path unpacked(const fs::path& root) {
  const std::string build = SHOAL_BINARY_DIR;
  const fs::path made = root / "made", tree = root / "tree";
  fs::create_directories(tree);
  Words cpack = {"cpack", "--config",   build + "/CPackConfig.cmake", "-G", "DEB",
                 "-B",    made.string()};
  if (fs::exists(SHOAL_TORCH_LIBRARIES "/../../nvidia/cudnn/lib"))
    cpack.insert(cpack.end(), {"-D", "CPACK_INSTALL_CMAKE_PROJECTS=" + build + ";shoal;shoal;/;" +
                                         build + ";shoal;libraries;/"});
  printed(cpack);
  for (const auto& entry : fs::directory_iterator(made))
    if (entry.path().extension() == ".deb") fs::rename(entry.path(), tree / "package.deb");
  fs::remove_all(made);
  printed({"env", "-C", tree.string(), "cmake", "-E", "tar", "xf", "package.deb"});
  printed({"env", "-C", tree.string(), "cmake", "-E", "tar", "xf", "data.tar.zst"});
  return tree / "usr";
}

// Runs a program in `folder` without environment variables and, where mount namespaces are allowed,
// without the build folder and the build's LibTorch. SHOAL_UNSHARE: the command that makes a mount
// namespace, or empty.
std::string printed_without_build(const fs::path& folder, const Words& words) {
  const char* const unshare = std::getenv("SHOAL_UNSHARE");
  REQUIRE(unshare);
  std::string script = "exec env -i -C \"$0\" HOME=\"$0\" PATH=/usr/bin:/bin \"$@\"";
  if (*unshare)
    script = "exec " + std::string(unshare) +
             " sh -c 'mount -t tmpfs none \"" SHOAL_BINARY_DIR
             "\" && mount -t tmpfs none \"" SHOAL_TORCH_LIBRARIES "\" && " +
             script + "' \"$0\" \"$@\"";
  return printed(test::joined({"sh", "-c", script, folder.string()}, words));
}

// Returns the lines of `ldd` with libraries that are missing or not in `tree`, apart from the
// runtime libraries of C and C++.
std::string from_elsewhere(const std::string& ldd, const fs::path& tree) {
  const std::regex runtime("\\s*lib(c|m|dl|rt|pthread|util|resolv|stdc\\+\\+|gcc_s)\\.so.*");
  std::string found;
  for (const std::string& line : test::lines_of(ldd)) {
    const bool is_library = line.find(" => ") != line.npos;  // not the dynamic linker
    const bool is_inside = line.find(" => " + tree.string() + "/") != line.npos;
    if (is_library && !is_inside && !std::regex_match(line, runtime)) found += line + "\n";
  }
  return found;
}

}  // namespace

TEST_CASE("a package contains its libraries, and trains where the build's are hidden") {
  const test::TemporaryDirectory directory;
  const fs::path root = directory.path(), tree = unpacked(root);
  CHECK_FALSE(fs::exists(tree / "lib/shoal/libshoal_cuda.so"));

  for (const char* program : {"shoal", "shoal-worker", "shoal-report"}) {
    const std::string path = (tree / "bin" / program).string();
    CHECK(from_elsewhere(printed_without_build(root, {"ldd", path}), tree) == "");
  }
  const std::string worker =
      printed_without_build(root, {"ldd", (tree / "bin/shoal-worker").string()});
  for (const char* library : {"libtorch_cpu.so", "libc10.so"})
    CHECK_THAT(worker, Contains(" => " + (tree / "bin/../lib/shoal/torch/lib" / library).string()));

  test::make_images(root / "data", 8, 4, 2, 40);
  const std::string shoal = (tree / "bin/shoal").string();
  const std::string log = printed_without_build(
      root, {shoal, "train", "--data", "data", "--output", "run", "--model", "efficientnet_b0",
             "--size", "32", "--batch-size", "4", "--epochs", "1", "--nproc", "2"});
  CHECK_THAT(log, Contains("Acc@1"));
  CHECK(fs::exists(root / "run/summary.json"));
  CHECK(fs::exists(root / "run/report.html"));
}
