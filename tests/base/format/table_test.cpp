#include "base/format/table.h"

#include <catch2/catch.hpp>

using shoal::Column;

TEST_CASE("the columns of a table are as wide as their longest text") {
  const std::vector<Column> columns = {{"name"}, {"size", true}, {"kind"}};
  CHECK(shoal::table_lines(columns, {{"ab", "100,000", ""}, {"größere", "1", "x"}}) ==
        std::vector<std::string>{"name        size  kind", "ab       100,000",
                                 "größere        1  x"});
  CHECK(shoal::table_lines(columns, {}) == std::vector<std::string>{"name  size  kind"});
}
