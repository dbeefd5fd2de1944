// Fuzzes lists in text files. The first byte chooses: the .lst beside a RecordIO file, the list of
// a packed set in shards, or a CSV file of images.
#include <cstdint>
#include <stdexcept>
#include <string>

#include "data/lists/csv_list.h"
#include "data/pack/shards.h"
#include "data/records/record_list.h"
#include "tests/fuzz/support/memory_file.h"
#include "tests/support/temporary_directory.h"

using namespace shoal;
using namespace shoal::data;

namespace {

// Opens the list with and without classes. It is in a folder with the images a.jpg, b.png and c.d.
void open_csv(std::span<const uint8_t> bytes, const std::filesystem::path& folder) {
  static const fuzz::MemoryFile list(folder / "x.csv"), a(folder / "a.jpg"), b(folder / "b.png"),
      c(folder / "c.d");
  list.fill(bytes);
  for (const bool unlabeled : {false, true}) {
    OpenOptions options;
    options.threads = 1;
    options.unlabeled = unlabeled;
    try {
      const auto images = open_csv_list((folder / "x.csv").string(), options);
      for (int64_t i = 0; i < images->size(); ++i) {
        if (static_cast<size_t>(images->label(i)) >= images->classes().size()) __builtin_trap();
        if (images->name(i).empty() || images->key(i).empty()) __builtin_trap();
      }
    } catch (const std::invalid_argument&) {
    } catch (const std::runtime_error&) {  // the list names a folder that this user cannot read
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const test::TemporaryDirectory folder;
  static const fuzz::MemoryFile lines(folder.path() / "x.lst"),
      shards(folder.path() / "shards.txt");
  if (size < 1) return 0;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  try {
    if (data[0] % 4 == 3) {
      open_csv(bytes, folder.path());
    } else if (data[0] % 4 == 1) {
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
