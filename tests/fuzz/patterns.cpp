// Fuzzes patterns of file names, in a folder of a few files.
#include "data/folder/patterns.h"

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>

#include "tests/support/temporary_directory.h"

using namespace shoal;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const test::TemporaryDirectory folder;
  static const bool ready = [] {
    for (const char* name : {"a.tar", "b.tar", "shard-00.tar", "shard-01.tar", "{x}"})
      std::ofstream(folder.path() / name) << "x";
    return ::chdir(folder.path().c_str()) == 0;
  }();
  const std::string pattern(reinterpret_cast<const char*>(data), size);
  // Other folders would take too long.
  if (!ready || pattern.find('/') != pattern.npos) return 0;
  try {
    data::is_pattern(pattern);
    if (data::expand_pattern(pattern).empty()) __builtin_trap();
  } catch (const std::invalid_argument&) {
  } catch (const std::runtime_error&) {  // from the system: a name too long
  }
  return 0;
}
