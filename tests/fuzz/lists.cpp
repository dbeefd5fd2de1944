// Fuzzes lists in text files. The first byte chooses: the .lst beside a RecordIO file, or the list
// of a packed set in shards.
#include <cstdint>
#include <stdexcept>

#include "data/pack/shards.h"
#include "data/records/record_list.h"
#include "tests/fuzz/support/memory_file.h"
#include "tests/support/temporary_directory.h"

using namespace shoal;
using namespace shoal::data;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const test::TemporaryDirectory folder;
  static const fuzz::MemoryFile lines(folder.path() / "x.lst"),
      shards(folder.path() / "shards.txt");
  if (size < 1) return 0;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  try {
    if (data[0] & 1) {
      lines.fill(bytes);
      const RecordList list = read_record_list((folder.path() / "x.rec").string());
      for (const auto& [id, line] : list.by_id)
        if (list.names_classes && line.folder.empty()) __builtin_trap();
    } else {
      shards.fill(bytes);
      packed_files(folder.path().string());
    }
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
