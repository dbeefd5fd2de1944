// Fuzzes the names of classes and images, from which `prepare` makes names of folders and files.
// Nothing may appear outside DEST. Input: the first byte chooses folders or tars; then come lines
// with a class, a tab and an image.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/pack/arrange.h"
#include "tests/support/temporary_directory.h"

using namespace shoal;
using namespace shoal::data;
namespace fs = std::filesystem;

namespace {

class NamedImages : public BasicDataset {
 public:
  explicit NamedImages(std::string_view lines) {
    while (!lines.empty() && names_.size() < 3) {
      const std::string_view line = lines.substr(0, lines.find('\n'));
      lines.remove_prefix(std::min(line.size() + 1, lines.size()));
      const size_t tab = std::min(line.find('\t'), line.size());
      classes_.emplace_back(line.substr(0, tab));
      names_.emplace_back(line.substr(std::min(tab + 1, line.size())));
    }
  }
  int64_t size() const override { return static_cast<int64_t>(names_.size()); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int32_t label(int64_t sample) const override { return static_cast<int32_t>(sample); }
  std::string name(int64_t sample) const override { return names_[static_cast<size_t>(sample)]; }
  void read(int64_t, std::vector<uint8_t>& bytes) const override { bytes = {1, 2, 3}; }

 private:
  std::vector<std::string> classes_, names_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Writes files to memory if possible, because every run flushes the file system.
  static const int in_memory =
      ::access("/dev/shm", W_OK) == 0 ? ::setenv("TMPDIR", "/dev/shm", 1) : -1;
  static_cast<void>(in_memory);
  static const test::TemporaryDirectory folder;
  static const fs::path dest = folder.path() / "outer" / "dest";
  if (size < 1) return 0;
  const NamedImages images({reinterpret_cast<const char*>(data) + 1, size - 1});
  const auto ignore = [](const auto&) {};
  try {
    arrange(images, dest.string(), data[0] & 1 ? Arrangement::folders : Arrangement::tars, 1,
            ignore, ignore);
    for (const auto& one : fs::recursive_directory_iterator(dest))
      if (one.path().filename().string().starts_with('.')) __builtin_trap();
  } catch (const std::invalid_argument&) {
  } catch (const std::runtime_error&) {  // from the system: a name too long
  }
  const auto only = [](const fs::path& parent, const char* name) {
    for (const auto& one : fs::directory_iterator(parent))
      if (one.path().filename() != name) __builtin_trap();
  };
  only(folder.path(), "outer");
  if (fs::exists(dest)) only(dest.parent_path(), "dest");
  fs::remove_all(dest);
  return 0;
}
