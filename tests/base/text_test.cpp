#include "base/text.h"

#include <catch2/catch.hpp>

using shoal::is_utf8;

TEST_CASE("well-formed UTF-8 is told from other bytes") {
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
