// Tests that a run neither writes nor prints secrets.

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/program.h"

using namespace shoal;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

const std::string kBase64 = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY01";

// Each value contains a different secret. No secret is part of another.
const std::vector<std::string> kEnvironment = {"AWS_SECRET_ACCESS_KEY=planted0/" + kBase64,
                                               "AWS_SESSION_TOKEN=planted1+" + kBase64,
                                               "HF_TOKEN=planted2_" + kBase64,
                                               "GITHUB_TOKEN=planted3_" + kBase64,
                                               "WANDB_API_KEY=planted4-" + kBase64,
                                               "DATABASE_PASSWORD=planted5 with blanks",
                                               "https_proxy=http://user:planted6@127.0.0.1:9"};

// Values of options that appear in messages and contain secrets.
const std::vector<std::string> kValues = {
    "https://user:planted7@host/model.pt",
    "https://bucket.s3.amazonaws.com/model.pt?X-Amz-Signature=planted8",
    "https://planted9" + kBase64 + "@host/model.pt",
    "AKIAPLANTEDPLANTED12",
    "ghp_planted" + kBase64,
    "eyJhbGciOiJIUzI1NiJ9.planted10abcdefghijklmnopqrstuvwxyz.sig",
    "planted0/" + kBase64,
    "planted5 with blanks",
    "password=planted11",
    "-----BEGIN PRIVATE KEY-----\nplanted12\n-----END PRIVATE KEY-----"};

bool has_secret(const std::string& text) {
  for (const std::string word : {"planted", "PLANTED"})
    if (text.find(word) != text.npos) return true;
  return false;
}

void check_files(const fs::path& folder) {
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    ++files;
    INFO(entry.path());
    CHECK_FALSE(has_secret(test::read_text(entry.path())));
  }
  CHECK(files > 0);
}

// Trains with `more`, and with secrets in the environment and in an option that changes nothing.
// Requires that neither the output of the program nor its files contain a secret, and that the
// summary has the outcome.
void check_training(const std::vector<std::string>& more, int exit_code,
                    const std::string& outcome) {
  const test::TemporaryDirectory directory;
  test::make_images(directory.path() / "data", 20, 10, 2, 40);
  const fs::path output = directory.path() / "run", exported = directory.path() / "model";
  // clang-format off
  const std::vector<std::string> words = {
      "train", "--data", (directory.path() / "data").string(), "--output", output.string(),
      "--export-dir", exported.string(), "--model", "mobilenet_v3_small", "--size", "32",
      "--epochs",
      "1", "--batch-size", "5", "--log-level", "debug", "--weights-cache",
      kValues[0]};
  // clang-format on
  const auto run = test::run_shoal(test::joined(words, more), kEnvironment);
  INFO(run.err);
  REQUIRE(run.exit_code == exit_code);
  CHECK_FALSE(has_secret(run.out + run.err));
  const std::string summary = test::read_text(output / "summary.json");
  CHECK_THAT(run.err, Contains("weights-cache=https://user:***@host/model.pt"));
  CHECK_THAT(summary, Contains("https://user:***@host/model.pt"));
  CHECK_THAT(summary, Contains("\"outcome\": \"" + outcome + "\""));
  CHECK_FALSE(fs::is_empty(output / "checkpoints"));
  check_files(output);
  if (exit_code == 0) check_files(exported);
}

}  // namespace

TEST_CASE("runs that succeed or fail write and print no secret of environment and options") {
  for (const std::string& value : kValues)
    check_training({"--lr", "0.05", "--experiment=" + value}, 0, "complete");
  check_training({"--lr", "0.05", "--nproc", "2", "--experiment=" + kValues[0]}, 0, "complete");
  // After the first step, the loss is not finite.
  check_training({"--lr", "1e30", "--non-finite-limit", "1", "--experiment=" + kValues.back()}, 1,
                 "failed");
}

TEST_CASE("errors that repeat a value mask its secrets, in the failure file too") {
  const test::TemporaryDirectory directory;
  test::make_images(directory.path() / "data", 4, 4, 2, 40);
  fs::create_directories(directory.path() / "ml/input/config");
  auto environment = kEnvironment;
  environment.push_back("SAGEMAKER_BASE_DIR=" + (directory.path() / "ml").string());
  for (const std::string& value : kValues)
    for (const std::string option : {"weights", "lr", "recipe", "data", "init-method"}) {
      const fs::path failure = directory.path() / "ml/output/failure";
      fs::remove(failure);
      const auto run = test::run_shoal(
          {"train", "--data", (directory.path() / "data").string(), "--output",
           (directory.path() / "run").string(), "--epochs", "1", "--" + option + "=" + value},
          environment);
      INFO(option << "\n" << run.out << run.err);
      CHECK(run.exit_code != 0);
      CHECK_FALSE(has_secret(run.out + run.err));
      REQUIRE(fs::exists(failure));
      const std::string text = test::read_text(failure);
      CHECK_FALSE(text.empty());
      CHECK_FALSE(has_secret(text));
    }
}
