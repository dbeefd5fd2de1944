#include "data/tar/tar_reader.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/data/sources/support.h"

using namespace shoal::data;
using Catch::Contains;
using Texts = std::vector<std::string>;

namespace {

std::vector<TarMember> members_of(const std::string& path) {
  const File file(path);
  return list_tar(file, 0, static_cast<uint64_t>(file.stamp().bytes));
}

std::string golden_tar(const std::string& name) {
  return SHOAL_SOURCE_DIR "/tests/golden/tars/" + name + ".tar";
}

std::string content_of(const std::string& path, const TarMember& member) {
  std::string text(member.bytes, '\0');
  File(path).read_at(member.offset, text.data(), static_cast<int64_t>(text.size()));
  return text;
}

Texts names_of(const std::vector<TarMember>& members) {
  Texts names;
  for (const TarMember& member : members) names.push_back(member.name);
  return names;
}

// Returns the names in the tar; none if the tar is refused.
Texts names_or_none(const std::string& path) {
  try {
    return names_of(members_of(path));
  } catch (const std::invalid_argument&) {
    return {};
  }
}

Texts expected(int kinds) {
  Texts names = {"cat/1.jpg", "cat/2.jpg", "dog/1.jpg"};
  if (kinds > 0)
    names.push_back("dog/" + std::string(120, 's') + "/" + std::string(60, 't') + ".jpg");
  if (kinds > 1) {
    names.push_back("dog/" + std::string(180, 'n') + ".jpg");
    names.push_back("fox/" + std::string(140, 'd') + "/" + std::string(140, 'e') + ".jpg");
    names.push_back("fox/\u00fc.jpg");
  }
  return names;
}

std::string message_of_tar(const std::string& bytes) {
  const TempFolder folder;
  folder.write("a.tar", bytes);
  try {
    members_of(folder / "a.tar");
  } catch (const std::invalid_argument& error) {
    CHECK_THAT(error.what(), Contains(folder / "a.tar"));
    return error.what();
  }
  return "";
}

std::string octal(uint64_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "%011llo", static_cast<unsigned long long>(value));
  return text;
}

std::string filled(std::string text) {
  text.resize((text.size() + 511) / 512 * 512);
  return text;
}

std::string with_pax(const std::string& records, const std::string& size_field,
                     const std::string& content) {
  return tar_header("x", octal(records.size()), 'x') + filled(records) +
         tar_header("cat/1.jpg", size_field) + filled(content) + std::string(1024, '\0');
}

}  // namespace

TEST_CASE("tars of Python and GNU tar in every format have the expected names and contents") {
  const std::vector<std::pair<std::string, int>> kinds = {
      {"python-ustar", 1}, {"python-gnu", 2}, {"python-pax", 2}, {"gnu-v7", 0},
      {"gnu-oldgnu", 2},   {"gnu-gnu", 2},    {"gnu-ustar", 1},  {"gnu-posix", 2}};
  for (const auto& [name, kind] : kinds) {
    INFO(name);
    const auto members = members_of(golden_tar(name));
    CHECK(names_of(members) == expected(kind));
    for (const TarMember& member : members)
      CHECK(content_of(golden_tar(name), member) == "content of " + member.name);
    CHECK(is_tar(File(golden_tar(name))));
  }
  CHECK_FALSE(is_tar(File(SHOAL_SOURCE_DIR "/tests/golden/resize_13.bin")));
}

TEST_CASE(
    "folders are left out, a leading ./ is removed, hard links have the content of their targets") {
  CHECK(names_of(members_of(golden_tar("gnu-folders"))) == Texts{"cat/1.jpg", "cat/2.jpg"});
  const auto members = members_of(golden_tar("gnu-link"));
  CHECK(names_of(members) == Texts{"cat/1.jpg", "cat/same.jpg"});
  CHECK(content_of(golden_tar("gnu-link"), members[1]) == "content of cat/1.jpg");
}

TEST_CASE("a tar that is read without seeking has the same members") {
  const TempFolder folder;
  std::string large(3'000'000, 'a');  // a.tar is read in three pieces of 4 MiB
  folder.write("a.tar", make_tar({{"cat/1.jpg", large},
                                  {"cat/2.jpg", large + "x"},
                                  {"dog/1.jpg", ""},
                                  {"dog/2.jpg", large}}));
  const File file(folder / "a.tar"), whole(folder / "a.tar", Reads::forward);
  const auto bytes = static_cast<uint64_t>(file.stamp().bytes);
  const auto seeking = list_tar(file, 0, bytes), forward = list_tar(whole, 0, bytes);
  CHECK(names_of(forward) == names_of(seeking));
  for (size_t i = 0; i < seeking.size(); ++i)
    CHECK((forward[i].offset == seeking[i].offset && forward[i].bytes == seeking[i].bytes));
  CHECK_THROWS_WITH(list_tar(whole, 0, bytes - 1024), Contains("no end mark"));
}

TEST_CASE("members that cannot be read in place are refused with the reason") {
  for (const char* name : {"gnu-sparse", "gnu-sparse-posix"})
    CHECK_THROWS_WITH(members_of(golden_tar(name)), Contains("sparse"));
  CHECK_THROWS_WITH(members_of(golden_tar("gnu-symbolic")),
                    Contains("symbolic link cat/symbolic.jpg") && Contains("--dereference"));
  CHECK_THAT(message_of_tar(tar_header("a", octal(0), 'M')), Contains("multi-volume"));
  CHECK_THAT(message_of_tar(tar_header("a", octal(0), '1')), Contains("not in the tar before"));
}

TEST_CASE("large sizes are read in base 256 and from pax records") {
  std::string base256(12, '\0');
  base256[0] = static_cast<char>(0x80);
  base256[11] = 7;
  const TempFolder folder;
  folder.write("a.tar",
               tar_header("cat/1.jpg", base256) + filled("1234567") + std::string(1024, '\0'));
  CHECK(members_of(folder / "a.tar")[0].bytes == 7);
  folder.write("b.tar", with_pax("10 size=3\n", octal(0), "123"));
  CHECK(content_of(folder / "b.tar", members_of(folder / "b.tar")[0]) == "123");
  base256[4] = 1;  // 2^56 bytes
  CHECK_THAT(message_of_tar(tar_header("a", base256)), Contains("cut short"));
  base256[0] = static_cast<char>(0xff);
  CHECK_THAT(message_of_tar(tar_header("a", base256)), Contains("an invalid size"));
  CHECK_THAT(message_of_tar(tar_header("a", "12x")), Contains("an invalid size"));
}

TEST_CASE("wrong pax records are refused") {
  for (const char* records : {"8 size=3\n", "11 size=3\n", "x size=3\n", "10 size 3\n", "4 =\n1",
                              "11 size=3x\n", "99999999999999999999 a=b\n", "10size=33\n"}) {
    INFO(records);
    CHECK_THAT(message_of_tar(with_pax(records, octal(3), "123")), Contains("pax record"));
  }
  const std::string many = tar_header("x", octal(uint64_t{1} << 30), 'x');
  CHECK_THAT(message_of_tar(many), Contains("more than 1 MiB"));
}

TEST_CASE("a tar that is cut short anywhere is reported as cut short", "[single]") {
  const File file(golden_tar("python-pax"));
  std::string whole(static_cast<size_t>(file.stamp().bytes), '\0');
  file.read_at(0, whole.data(), static_cast<int64_t>(whole.size()));
  const size_t end = whole.find_last_not_of('\0') / 512 * 512 + 512;  // where the end mark begins
  const TempFolder folder;
  folder.write("a.tar", whole);
  for (size_t cut = end + 511; cut > 0; --cut) {
    std::filesystem::resize_file(folder / "a.tar", cut);
    INFO(cut);
    CHECK_THROWS_WITH(members_of(folder / "a.tar"),
                      Contains("cut short") && Contains("download or make it again"));
  }
  folder.write("a.tar", whole.substr(0, end + 512));
  CHECK(members_of(folder / "a.tar").size() == expected(2).size());
}

TEST_CASE("a changed bit in any header is found", "[single][slow]") {
  const std::string whole = make_tar({{"cat/1.jpg", "one"}, {"dog/2.jpg", "two"}});
  const TempFolder folder;
  folder.write("a.tar", whole);
  const auto good = names_of(members_of(folder / "a.tar"));
  for (const size_t header : {size_t{0}, size_t{1024}}) {
    for (size_t bit = 0; bit < 512 * 8; ++bit) {
      std::string bad = whole;
      bad[header + bit / 8] ^= static_cast<char>(1 << bit % 8);
      folder.write("a.tar", bad);
      INFO(header << " " << bit);
      const Texts found = names_or_none(folder / "a.tar");
      // A change in the checksum's field may be valid, because its padding has several valid forms.
      const bool in_checksum = bit / 8 >= 148 && bit / 8 < 156;
      CHECK((found.empty() || (in_checksum && found == good)));
    }
  }
}

TEST_CASE("several tars one after the other are refused rather than read in part") {
  const std::string one = make_tar({{"cat/1.jpg", "one"}});
  CHECK_THAT(message_of_tar(one + one), Contains("one after the other"));
  CHECK(message_of_tar(one + std::string(10240, '\0')).empty());
}
