#pragma once
// A short training run that must end with the same bits whichever launcher starts its processes.

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/program.h"
#include "train/checkpoint/checkpoint_store.h"

namespace shoal::test {

// The images, and a reference run that the constructor executes with our own launcher.
class SmallRun {
 public:
  explicit SmallRun(int world_size);

  std::filesystem::path output(const std::string& name) const { return directory_.path() / name; }
  // Returns the command `shoal train …` that writes to output(name).
  std::vector<std::string> words(const std::string& name,
                                 const std::vector<std::string>& more = {}) const;
  // Fail the test unless the last checkpoint equals that of the reference run: every tensor, the
  // position and the settings. The first looks in output(name), the second in `checkpoints`.
  void require_same(const std::string& name) const;
  void require_same_checkpoints(const std::filesystem::path& checkpoints) const;

 private:
  TemporaryDirectory directory_;
  std::string checksum_;  // of the reference run's last checkpoint
};

// Returns the small run with two processes, which is made on first use.
const SmallRun& pair_run();

// Fails the test if any exit code is not 0.
void require_success(const std::vector<Outcome>& outcomes);

}  // namespace shoal::test
