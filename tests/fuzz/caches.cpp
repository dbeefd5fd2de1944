// Fuzzes the caches of listings and scans. The first byte of the input chooses the cache. The rest
// is a list of changes to a valid cache file, whose hash is then corrected. A change has 4 bytes:
// place (2 bytes), operation and new byte.
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>

#include "data/container/cache_file.h"
#include "data/container/scan.h"
#include "data/folder/listing.h"
#include "tests/fuzz/support/memory_file.h"
#include "tests/support/temporary_directory.h"

using namespace shoal;
using namespace shoal::data;
namespace fs = std::filesystem;

namespace {

// The bytes of a valid cache file, and the file in memory that replaces it under the same name.
struct Cache {
  std::string bytes;
  fuzz::MemoryFile file;

  static std::string taken(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    fs::remove(path);
    return bytes;
  }
  explicit Cache(const fs::path& path) : bytes(taken(path)), file(path) {}
};

void age(const fs::path& path) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
}

std::string changed(std::string bytes, std::span<const uint8_t> changes) {
  bytes.resize(bytes.size() - 8);  // without the hash
  for (size_t i = 0; i + 4 <= changes.size(); i += 4) {
    const size_t at = (changes[i] | changes[i + 1] << 8) % (bytes.size() + 1);
    const auto value = static_cast<char>(changes[i + 3]);
    if (changes[i + 2] % 4 == 0) bytes.insert(at, 1, value);
    if (changes[i + 2] % 4 == 1 && at < bytes.size()) bytes.erase(at, 1);
    if (changes[i + 2] % 4 >= 2 && at < bytes.size()) bytes[at] = value;
  }
  return CacheWriter(bytes).finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const test::TemporaryDirectory folder;
  static const std::string root = (folder.path() / "set").string(),
                           caches = (folder.path() / "caches").string();
  static const std::vector<SourceFile> files = [] {
    for (const char* name : {"/a/1.jpg", "/a/b/2.jpg", "/c/3.jpg", "/c/notes.txt"}) {
      fs::create_directories(fs::path(root + name).parent_path());
      std::ofstream(root + name) << "x";
      age(root + name);
    }
    for (const char* name : {"/a/b", "/a", "/c", ""}) age(root + name);
    return stamped({root + "/a/1.jpg", root + "/c/3.jpg"});
  }();
  static const Cache listings = [] {
    save_listing(caches, root, list_folder(root, 1));
    return Cache(listing_cache_path(caches, root));
  }();
  static const ScanCache scan_cache(caches, "fuzzed", files);
  static const Cache scans = [] {
    std::vector<Scan> found(2);
    for (Scan& scan : found) {
      ScanEntry entry;
      entry.text = scan.place_of("cat");
      scan.add(entry, "1.jpg");
      entry.number = 3;
      scan.add(entry, "2.jpg");
      scan.left_out.add("x");
    }
    scan_cache.save(found);
    for (const auto& file : fs::directory_iterator(caches))
      if (file.path().extension() == ".scan") return Cache(file.path());
    std::abort();
  }();
  if (size < 1) return 0;
  const std::span<const uint8_t> changes(data + 1, size - 1);
  if (data[0] & 1) {
    listings.file.fill(changed(listings.bytes, changes));
    const auto listing = load_listing(caches, root);
    for (int64_t i = 0; listing && i < listing->files(); ++i) {
      listing->name_of(i);
      if (static_cast<size_t>(listing->directory_of(i).label) >= listing->classes.size())
        __builtin_trap();
    }
  } else {
    scans.file.fill(changed(scans.bytes, changes));
    std::vector<Scan> loaded;
    scan_cache.load(loaded);
    for (const Scan& scan : loaded)
      for (size_t i = 0; i < scan.size(); ++i) {
        scan.name(i);
        if (scan.entries[i].text >= static_cast<int32_t>(scan.texts.size())) __builtin_trap();
      }
  }
  return 0;
}
