#include "train/weights/formats/zip_file.h"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "base/file/whole_file.h"
#include "tests/train/weights/formats/hostile.h"

using namespace shoal::train;
using Catch::Contains;

namespace {

std::string content_of(const ZipFile& zip, const std::string& name) {
  const auto found = zip.find(name);
  return found ? std::string(found->begin(), found->end()) : "none";
}

}  // namespace

TEST_CASE("files of a zip archive are found by name") {
  const auto bytes = zip_of({{"a/data.pkl", "pickle"}, {"a/data/0", std::string("\0\1\2", 3)}});
  const ZipFile zip(bytes);
  CHECK(zip.first_name() == "a/data.pkl");
  CHECK(content_of(zip, "a/data.pkl") == "pickle");
  CHECK(content_of(zip, "a/data/0") == std::string("\0\1\2", 3));
  CHECK(content_of(zip, "a/data/1") == "none");
}

TEST_CASE("archives with 64-bit sizes and with a comment are read") {
  auto bytes = shoal::read_whole_file(SHOAL_SOURCE_DIR "/tests/fuzz/corpus/torch_file/zip64");
  CHECK(content_of(ZipFile(bytes), "a/data/0").size() == 48);
  bytes = zip_of({{"one", "1"}});
  bytes[bytes.size() - 2] = 7;
  bytes.insert(bytes.end(), 7, '#');
  CHECK(content_of(ZipFile(bytes), "one") == "1");
}

TEST_CASE("contents that do not match their checksums are found") {
  auto bytes = shoal::read_whole_file(SHOAL_SOURCE_DIR "/tests/fuzz/corpus/torch_file/zip64");
  CHECK_NOTHROW(ZipFile(bytes).check_contents());
  const size_t place = static_cast<size_t>(ZipFile(bytes).find("a/data/0")->data() - bytes.data());
  bytes[place + 7] ^= 1;
  CHECK_THROWS_WITH(ZipFile(bytes).check_contents(), Contains("a/data/0") && Contains("checksum"));
}

TEST_CASE("compressed files and files of the same name are refused") {
  const auto compressed = zip_of({{"a/data.pkl", "small"}}, {.method = 8});
  const ZipFile zip(compressed);
  CHECK_THROWS_WITH(zip.find("a/data.pkl"), Contains("data.pkl") && Contains("compressed"));
  const auto twice = zip_of({{"one", "1"}, {"one", "2"}});
  CHECK_THROWS_WITH(ZipFile(twice), Contains("twice"));
}

TEST_CASE("an archive that is cut short or damaged is an error or another content") {
  const auto whole = zip_of({{"a/data.pkl", "pickle"}, {"a/data/0", "0123"}});
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<int64_t>(size));
    CHECK_THROWS_AS(ZipFile(cut), std::runtime_error);
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int flipped : {1, 128, 255}) {
      std::vector<char> bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ flipped);
      try {
        const ZipFile zip(bytes);
        for (const char* name : {"a/data.pkl", "a/data/0"}) zip.find(name);
      } catch (const std::runtime_error&) {
      }
    }
  }
}
