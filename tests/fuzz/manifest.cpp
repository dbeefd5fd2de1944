// Fuzzes SageMaker's manifests. The images that they name are files in memory.
#include "data/lists/manifest.h"

#include <cstdint>
#include <stdexcept>

#include "tests/fuzz/support/memory_file.h"
#include "tests/support/temporary_directory.h"

using namespace shoal;
using namespace shoal::data;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const test::TemporaryDirectory folder;
  static const std::string path = (folder.path() / "x.manifest").string();
  static const fuzz::MemoryFile manifest(path), image(folder.path() / "a.jpg");
  manifest.fill(std::span(data, size));
  try {
    if (!is_manifest(File(path))) return 0;
    OpenOptions options;
    options.classes = {"cat", "dog"};
    for (const bool unlabeled : {false, true}) {
      options.unlabeled = unlabeled;
      const auto opened = open_manifest({path}, options);
      const auto classes = static_cast<int32_t>(opened->classes().size());
      for (int64_t i = 0; i < opened->size(); ++i) {
        if (opened->label(i) < 0 || opened->label(i) >= classes) __builtin_trap();
        if (opened->name(i).empty() || opened->key(i).empty()) __builtin_trap();
      }
    }
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
