#pragma once
// A simulated SageMaker container.

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/program.h"

namespace shoal::test {

// A temporary folder in place of /opt/ml, with one host and no hyperparameters.
class Container {
 public:
  Container() {
    write("resourceconfig", R"({"current_host": "algo-1", "hosts": ["algo-1"],
                                "network_interface_name": "eth0"})");
    write("hyperparameters", "{}");
  }

  std::filesystem::path operator/(const std::string& name) const { return base_ / name; }

  void write(const std::string& config, const std::string& text) {
    std::filesystem::create_directories(base_ / "input/config");
    std::ofstream(base_ / "input/config" / (config + ".json")) << text;
  }

  // Fills the channel train with `train` images and the channel validation with `val` images.
  void fill(int train, int val) {
    make_images(directory_.path() / "made", train, val, 2, 40);
    std::filesystem::create_directories(base_ / "input/data");
    std::filesystem::rename(directory_.path() / "made/train", base_ / "input/data/train");
    std::filesystem::rename(directory_.path() / "made/val", base_ / "input/data/validation");
  }

  std::vector<std::string> environment(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"SAGEMAKER_BASE_DIR=" + base_.string()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  Outcome run(const std::vector<std::string>& words,
              const std::function<bool(pid_t)>& watch = {}) const {
    return run_shoal(words, environment(), watch);
  }

  std::string failure() const { return read_text(base_ / "output/failure"); }

 private:
  TemporaryDirectory directory_;
  std::filesystem::path base_ = directory_.path() / "ml";
};

}  // namespace shoal::test
