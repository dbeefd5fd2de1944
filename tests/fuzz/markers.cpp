// Fuzzes a checkpoint's marker: the JSON file beside it with its size, checksum, epoch and step.
#include <cstdint>
#include <fstream>
#include <stdexcept>

#include "tests/fuzz/support/memory_file.h"
#include "tests/support/temporary_directory.h"
#include "train/checkpoint/checkpoint_store.h"

using namespace shoal;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const test::TemporaryDirectory folder;
  static const fuzz::MemoryFile marker(folder.path() / "epoch-0001-step-00000002.json");
  static const fuzz::MemoryFile checkpoint(folder.path() / "epoch-0001-step-00000002.pt");
  marker.fill(std::span(data, size));
  const train::CheckpointStore store(folder.path(), 1);
  try {
    for (const auto& entry : store.entries())
      if (entry.name != "epoch-0001-step-00000002") __builtin_trap();
    store.best();
    store.newest_good([](const std::string&) {});
  } catch (const std::runtime_error&) {
  }
  return 0;
}
