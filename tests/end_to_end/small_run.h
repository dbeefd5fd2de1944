#pragma once
// One short training run, started in many ways: whoever starts its two processes, it ends with the
// same bits.

#include <filesystem>
#include <string>
#include <vector>

#include "program.h"
#include "train/checkpoint/checkpoint_store.h"

namespace shoal::test {

// Images, and the run of our own launcher that others are compared with. Made on first use.
class SmallRun {
 public:
  // World size of the run that is compared with: one object for each.
  explicit SmallRun(int world_size);

  std::filesystem::path output(const std::string& name) const { return directory_.path() / name; }
  // `shoal train …` writing to output(name).
  std::vector<std::string> words(const std::string& name,
                                 const std::vector<std::string>& more = {}) const;
  // The run in output(name), or its checkpoints in `checkpoints`, ended with the same checkpoint:
  // every tensor, the position and the settings.
  void require_same(const std::string& name) const;
  void require_same_checkpoints(const std::filesystem::path& checkpoints) const;

 private:
  TemporaryDirectory directory_;
  std::string checksum_;
};

// The run of two processes.
const SmallRun& pair_run();

// Fails the test unless all ended with exit code 0.
void require_success(const std::vector<Outcome>& outcomes);

}  // namespace shoal::test
