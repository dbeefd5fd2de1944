// Damaged and hostile zips.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "data/errors.h"
#include "data/limits.h"
#include "tests/data/sources/archives/zip_support.h"
#include "tests/data/sources/support.h"

using namespace shoal::data;
using Catch::Contains;

namespace {

using Reasons = std::vector<std::string>;

}  // namespace

TEST_CASE("a zip that is cut short anywhere is refused") {
  for (const bool deflated : {false, true}) {
    const std::string whole = two_images_zip(deflated);
    const TempFolder t;
    for (size_t bytes = 4; bytes < whole.size(); bytes += 1 + bytes / 100) {
      INFO(bytes);
      t.write("a.zip", whole.substr(0, bytes));
      CHECK_THAT(message_of(t / "a.zip"), Contains("a.zip is damaged or cut short"));
    }
  }
}

TEST_CASE("the end record is found before a comment and other bytes") {
  const Members members = {{"cat/1.jpg", "a"}, {"dog/2.jpg", "b"}};
  const std::string zip = make_zip(members);
  const std::string body = zip.substr(0, zip.size() - 22);
  const size_t offset = zip_row_of(zip, "cat/1.jpg"), rows = body.size() - offset;
  std::string comment(65535, 'c');
  comment.replace(7, 4, "PK\5\6");  // no end record: its comment would end too early
  for (const bool wide : {false, true}) {
    for (const std::string& all : {body + zip_end(2, rows, offset, wide, comment),
                                   body + zip_end(2, rows, offset, wide, "") + "\r\n"}) {
      CHECK(damages_of_zip(all) == Reasons{"", ""});
    }
  }
  const std::string longest(65535, 'c');
  CHECK_THAT(message_of_zip(body + zip_end(2, rows, offset, false, longest) + "x"),
             Contains("has no directory"));
}

TEST_CASE("a damaged image is reported when it is read, and the others can be read") {
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), to.size(), to);
  };
  CHECK(damages_of_zip(replaced(two_images_zip(), "aaaa", "aaab")) ==
        Reasons{"its checksum is wrong", ""});
  for (const bool deflated : {false, true}) {
    const std::string zip = two_images_zip(deflated);
    const Reasons crc =
        damages_of_zip(with_zip_row(zip, "dog/2.jpg", zip_row_field::kCrc, word(1)));
    CHECK(crc == Reasons{"", "its checksum is wrong"});
    const size_t second = zip.find("PK\3\4", 4);
    for (const auto& [at, bytes] : {std::pair(0, std::string("PK\3\5")),  // signature
                                    std::pair(6, half_word(1)),           // encrypted
                                    std::pair(8, half_word(12)),          // method
                                    std::pair(28, half_word(65535))}) {   // extra field too long
      INFO(at);
      std::string bad = zip;
      bad.replace(second + static_cast<size_t>(at), bytes.size(), bytes);
      const Reasons reasons = damages_of_zip(bad);
      CHECK(reasons[0].empty());
      CHECK_THAT(reasons[1], Contains("contradicts the directory"));
    }
  }
  const std::string deflated = two_images_zip(true);
  const std::string packed = deflated.substr(deflated.find("abc") + 3, 6);
  CHECK_THAT(damages_of_zip(replaced(deflated, packed, "\xff\xff\xff\xff"))[0],
             Contains("compressed data is damaged"));
  // The directory states other sizes than the compressed data has.
  CHECK_THAT(
      damages_of_zip(with_zip_row(deflated, "dog/2.jpg", zip_row_field::kSize, word(999)))[1],
      Contains("does not end"));
  CHECK_THAT(
      damages_of_zip(with_zip_row(deflated, "dog/2.jpg", zip_row_field::kSize, word(1001)))[1],
      Contains("compressed data is damaged"));
  CHECK_THAT(
      damages_of_zip(with_zip_row(deflated, "dog/2.jpg", zip_row_field::kPackedSize, word(5)))[1],
      Contains("compressed data is damaged"));
}

TEST_CASE("the size that a zip states limits memory") {
  const TempFolder t;
  const auto data_of = [&](uint32_t bytes) {
    t.write("a.zip",
            with_zip_row(two_images_zip(true), "cat/1.jpg", zip_row_field::kSize, word(bytes)));
    return open_dataset(t / "a.zip");
  };
  Bytes bytes;
  CHECK_THROWS_WITH(data_of(kMaxFileBytes + 1)->read(0, bytes), Contains("too many"));
  CHECK_THROWS_AS(data_of(kMaxFileBytes)->read(0, bytes), DamagedImage);
  CHECK(bytes.capacity() < 1 << 20);  // refused before memory of the stated size is allocated
  // Decompression of a zip bomb stops at the stated size.
  std::string zeros;
  zeros.resize(50'000'000);
  const std::string bomb = make_zip({{"cat/1.jpg", zeros}}, true);
  CHECK(bomb.size() < 100'000);
  t.write("b.zip", with_zip_row(bomb, "cat/1.jpg", zip_row_field::kSize, word(1000)));
  CHECK_THROWS_AS(open_dataset(t / "b.zip")->read(0, bytes), DamagedImage);
  CHECK(bytes.capacity() < 1 << 20);
}

TEST_CASE("a directory that cannot be true is refused") {
  const std::string zip = two_images_zip(), name = "dog/2.jpg";
  const size_t second = zip.find("PK\3\4", 4), directory = zip_row_of(zip, "cat/1.jpg");
  const auto refused = [](const std::string& bytes, const std::string& part) {
    CHECK_THAT(message_of_zip(bytes), Contains("is damaged or cut short") && Contains(part));
  };
  refused(with_zip_row(zip, name, zip_row_field::kPackedSize, word(999)),
          "wrong size or offset of dog/2.jpg");
  refused(
      with_zip_row(zip, name, zip_row_field::kOffset, word(static_cast<uint32_t>(directory - 999))),
      "wrong size or offset of dog/2.jpg");
  refused(with_zip_row(zip, name, zip_row_field::kOffset, word(0xfffffff0)),
          "wrong size or offset of dog/2.jpg");
  refused(with_zip_row(zip, name, zip_row_field::kOffset, word(UINT32_MAX)),
          "lacks");  // UINT32_MAX stands for a 64-bit offset, which is missing
  refused(with_zip_row(zip, name, zip_row_field::kOffset, word(static_cast<uint32_t>(second - 20))),
          "overlap");
  refused(with_zip_row(zip, name, zip_row_field::kOffset, word(0)), "overlap");
  refused(with_zip_row(two_images_zip(true), name, zip_row_field::kPackedSize, word(0)),
          "wrong size or offset of dog/2.jpg");
  refused(with_zip_row(zip, name, 0, "PK\1\3"), "directory is wrong");
  const std::string body = zip.substr(0, zip.size() - 22);
  const size_t bytes = body.size() - directory;
  refused(body + zip_end(3, bytes, directory), "2 entries instead of 3");
  refused(body + zip_end(2, bytes - 1, directory), "directory has no end");
  refused(body + zip_end(2, bytes, directory + 1), "beyond its end");
  refused(body + zip_end(2 + 65536, bytes, directory, true), "instead of 65538");
  std::string wide = body + zip_end(2, bytes, directory, true);
  const size_t locator = wide.rfind("PK\6\7");
  refused(std::string(wide).replace(locator + 8, 4, word(0xfffffff0)), "end record is wrong");
  refused(std::string(wide).replace(locator + 8, 1, std::string(1, '\0')), "end record is wrong");
  CHECK_THAT(message_of_zip(std::string(wide).replace(locator + 16, 1, "\2")),
             Contains("split zip"));
}
