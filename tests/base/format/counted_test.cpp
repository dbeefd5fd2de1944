#include "base/format/counted.h"

#include <catch2/catch.hpp>

TEST_CASE("one thing is counted in the singular, others in the plural") {
  CHECK(shoal::counted(1, "class") == "1 class");
  CHECK(shoal::counted(0, "class") == "0 classes");
  CHECK(shoal::counted(3, "process") == "3 processes");
  CHECK(shoal::counted(1, "loader thread") == "1 loader thread");
  CHECK(shoal::counted(21, "val image") == "21 val images");
}
