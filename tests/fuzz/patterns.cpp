// Fuzzes patterns of file names, in a folder of a few files.
#include "data/folder/patterns.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>

#include "tests/support/temporary_directory.h"

using namespace shoal;

namespace {

// Returns the number of digits of the longest number in the text.
int most_digits(const std::string& text) {
  int most = 0, digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    most = std::max(most, digits);
  }
  return most;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const test::TemporaryDirectory folder;
  static const bool ready = [] {
    for (const char* name : {"a.tar", "b.tar", "shard-00.tar", "shard-01.tar", "{x}"})
      std::ofstream(folder.path() / name) << "x";
    return true;
  }();
  const std::string text(reinterpret_cast<const char*>(data), size);
  // Skip inputs that leave the folder ('/') or take too long: long numbers or more than two '{',
  // because ranges and lists multiply the number of searches.
  const bool large = most_digits(text) > 2 || std::count(text.begin(), text.end(), '{') > 2;
  if (!ready || large || text.find('/') != text.npos) return 0;
  const std::string pattern = (folder.path() / text).string();
  try {
    data::is_pattern(pattern);
    if (data::expand_pattern(pattern).empty()) __builtin_trap();
  } catch (const std::invalid_argument&) {
  } catch (const std::runtime_error&) {  // from the system: a name too long
  }
  return 0;
}
