#include "base/format/csv_reader.h"

#include <catch2/catch.hpp>

using namespace shoal;
using Catch::Contains;
using Record = std::vector<std::string>;

namespace {

// Reads all records. Puts the line number before the fields of each.
std::vector<Record> records(std::string text, const std::string& path = "a.csv") {
  CsvReader reader(path, text);
  std::vector<Record> all;
  while (reader.next()) {
    all.push_back({std::to_string(reader.line())});
    all.back().insert(all.back().end(), reader.fields().begin(), reader.fields().end());
  }
  return all;
}

}  // namespace

TEST_CASE("records know their lines, also after line breaks in quotes and empty lines") {
  CHECK(records("a,b\n\n\"x\ny\", z \r\n,\n\"say \"\"no\"\"\",1") ==
        std::vector<Record>{
            {"1", "a", "b"}, {"3", "x\ny", "z"}, {"5", "", ""}, {"6", "say \"no\"", "1"}});
  CHECK(records("\xEF\xBB\xBF").empty());
  CHECK(records("a;b\n1,5;2") == std::vector<Record>{{"1", "a", "b"}, {"2", "1,5", "2"}});
  CHECK(records("a\tb c", "A.TSV") == std::vector<Record>{{"1", "a", "b c"}});
}

TEST_CASE("malformed CSV names path and line") {
  CHECK_THROWS_WITH(records("a\n\"b"), Contains("a.csv line 2") && Contains("not closed"));
  CHECK_THROWS_WITH(records("a\n\n\"b\"c"), Contains("a.csv line 3"));
  CHECK_THROWS_WITH(records(std::string("a\n\0", 3)), Contains("line 2") && Contains("zero byte"));
}
