#include "data/folder/patterns.h"

#include <catch2/catch.hpp>

#include "tests/data/sources/support.h"

using namespace shoal::data;
using Catch::Contains;
using Texts = std::vector<std::string>;

TEST_CASE("braces count and list, and malformed ones are reported") {
  TempFolder t;
  for (const char* name : {"a8", "a9", "a10", "b-008", "b-009", "b-010", "c[1]"})
    t.write(name, "x");
  const auto names = [&](const std::string& pattern) {
    Texts found;
    for (const std::string& path : expand_pattern(t / pattern))
      found.push_back(path.substr(t.path().size() + 1));
    return found;
  };
  CHECK(names("a{8..10}") == Texts{"a8", "a9", "a10"});
  CHECK(names("b-{008..010}") == Texts{"b-008", "b-009", "b-010"});
  CHECK(names("{b-00,a}{8,9}") == Texts{"b-008", "b-009", "a8", "a9"});
  CHECK(names("{b*,a?}") == Texts{"b-008", "b-009", "b-010", "a8", "a9"});
  CHECK(names("{a1*,a*}") == Texts{"a10", "a8", "a9"});  // each file once
  CHECK_FALSE(is_pattern(t / "c[1]"));
  t.write("d [v2] {a,b}*/e1", "x");
  CHECK(names("d [v2] {a,b}*/e?") == Texts{"d [v2] {a,b}*/e1"});
  CHECK_FALSE(is_pattern(t / "d [v2] {a,b}*/missing"));
  CHECK(names("?8") == Texts{"a8"});
  CHECK_THROWS_WITH(names("a{8..11}"), Contains("a11") && Contains("does not exist"));
  CHECK_THROWS_WITH(names("a{9..8}"), Contains("{FIRST..LAST}"));
  CHECK_THROWS_WITH(names("a{x..y}"), Contains("{FIRST..LAST}"));
  CHECK_THROWS_WITH(names("a{0..9999999}"), Contains("million"));
  CHECK_THROWS_WITH(names("z*"), Contains("no file matches"));
  CHECK_THROWS_WITH(names("z*{0..10000}"), Contains("10,000 times"));  // would take hours
}
