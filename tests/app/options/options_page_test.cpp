#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "app/options/options.h"

TEST_CASE("docs/options.md matches the table of options") {
  std::ostringstream page;
  page << std::ifstream(SHOAL_SOURCE_DIR "/docs/options.md").rdbuf();
  const std::string expected = shoal::app::options_page();
  if (page.str() != expected) {
    const std::string made = SHOAL_BINARY_DIR "/options.md";
    std::ofstream(made) << expected;
    FAIL("docs/options.md is out of date; copy " << made << " over it");
  }
}
