#include "base/text.h"

#include <catch2/catch.hpp>

using shoal::is_utf8;
using shoal::printable;

TEST_CASE("well-formed UTF-8 is distinguished from other bytes") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("n02085620-Chihuahua"));
  CHECK(
      is_utf8("gr\xC3\xBC\xC3\x9F"
              "e \xE6\xBC\xA2 \xF0\x9F\x90\x9F"));
  CHECK_FALSE(
      is_utf8("gr\xFC\xDF"
              "e"));                         // Latin-1
  CHECK_FALSE(is_utf8("\xC0\xAF"));          // over-long
  CHECK_FALSE(is_utf8("\xED\xA0\x80"));      // surrogate
  CHECK_FALSE(is_utf8("\xF4\x90\x80\x80"));  // above U+10FFFF
  CHECK_FALSE(is_utf8("a\xE6\xBC"));         // cut off
}

TEST_CASE("wrapping counts characters, not bytes, and uses the given gap between entries") {
  const std::vector<std::string> words = {
      "gr\xC3\xBC\xC3\x9F"
      "e",
      "an", "alle"};
  CHECK(shoal::wrapped("to", words, 4, 12, 1) ==
        "to  gr\xC3\xBC\xC3\x9F"
        "e an\n    alle");
  CHECK(shoal::wrapped("heading", {"a", "b"}, 4) == "heading a  b");
}

TEST_CASE("lists are joined and split, and a separator at the end adds no part") {
  CHECK(shoal::joined({"a", "", "c"}) == "a, , c");
  CHECK(shoal::joined({"a", "b"}, ":") == "a:b");
  CHECK(shoal::joined({}) == "");
  CHECK(shoal::joined({"a", "b"}, ", ", 2) == "a, b");
  CHECK(shoal::joined({"a", "b", "c", "d"}, ", ", 2) == "a, b and 2 more");
  CHECK(shoal::split("a,,c,", ',') == std::vector<std::string>{"a", "", "c"});
  CHECK(shoal::split("", ',').empty());
}

TEST_CASE("only text that is a number as a whole, in the range of its type, is parsed") {
  using shoal::parse_number;
  CHECK(parse_number<int>("-12") == -12);
  CHECK(parse_number<double>("1e3") == 1000);
  CHECK(parse_number<uint8_t>("255") == 255);
  CHECK_FALSE(parse_number<uint8_t>("256"));
  CHECK_FALSE(parse_number<unsigned>("-1"));
  for (const char* text : {"", " 1", "1 ", "+1", "1,2", "0x1", "one"}) {
    CHECK_FALSE(parse_number<int>(text));
    CHECK_FALSE(parse_number<double>(text));
  }
  CHECK(shoal::parse_whole_number("007") == 7);
  CHECK_FALSE(shoal::parse_whole_number("-7"));
}

TEST_CASE("a number is written as the shortest text that reads back") {
  CHECK(shoal::number(0.1) == "0.1");
  CHECK(shoal::number(1e-4) == "1e-04");
  CHECK(shoal::number(1.0 / 3) == "0.3333333333333333");
}

TEST_CASE("printable() escapes control characters and keeps names readable") {
  CHECK(printable("Größe 3 × 4 \U0001F41F.jpg") == "Größe 3 × 4 \U0001F41F.jpg");
  CHECK(printable("a\nb\tc\rd\033[2Ke\x7f") == "a\\nb\\tc\\x0dd\\x1b[2Ke\\x7f");
  CHECK(printable(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(printable("\xC2\x9B"
                  "31m") == "\\x9b31m");  // a C1 control character
  CHECK(printable("\xE2\x80\xAE"
                  "gpj") == "\\u202egpj");        // right-to-left override
  CHECK(printable("\xE2\x80\xA8") == "\\u2028");  // line separator
  CHECK(printable("Gr\xF6\xDF"
                  "e") == "Gr\\xf6\\xdfe");  // Latin-1
}
