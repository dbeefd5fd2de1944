#include "base/json.h"

#include <catch2/catch.hpp>
#include <string>

using shoal::nests_too_deep;
using shoal::parse_json;

namespace {

std::string nested(int levels) {
  const auto count = static_cast<size_t>(levels);
  return std::string(count, '[') + std::string(count, ']');
}

}  // namespace

TEST_CASE("JSON may nest 100 levels, and deeper JSON is discarded") {
  CHECK(parse_json(nested(100)).is_array());
  CHECK(parse_json(nested(101)).is_discarded());
  CHECK(parse_json(nested(1'000'000)).is_discarded());
  std::string objects;
  for (int i = 0; i < 200'000; ++i) objects += "{\"a\":[";
  CHECK(parse_json(objects).is_discarded());
  CHECK(parse_json("[" + nested(50) + ", " + nested(99) + "]").is_array());
}

TEST_CASE("brackets in strings do not nest") {
  const std::string brackets(200, '[');
  CHECK(parse_json("[\"" + brackets + "\"]")[0] == brackets);
  CHECK(parse_json("[\"\\\"" + brackets + "\"]")[0] == "\"" + brackets);
  CHECK(nests_too_deep("\"\\\\\"" + brackets));  // the string ends before the brackets
}

TEST_CASE("what is not JSON is discarded") {
  for (const char* text : {"", "[", "{\"a\"}", "]]]]", "\"", "\"\\"}) {
    INFO(text);
    CHECK(parse_json(text).is_discarded());
  }
}

TEST_CASE("whole numbers are read exactly, other values are not converted") {
  const auto number = [](const char* text) { return shoal::whole_number(parse_json(text)); };
  CHECK(number("0") == 0);
  CHECK(number("9223372036854775807") == INT64_MAX);
  for (const char* text : {"9223372036854775808", "11111111111111111111111115", "-1", "2.5", "2.0",
                           "1e3", "true", "null", "\"2\"", "[2]"}) {
    INFO(text);
    CHECK_FALSE(number(text));
  }
}

TEST_CASE("an optional number of an object is read, and values of other types are not") {
  const auto number = [](const char* text) { return shoal::number_in(parse_json(text), "a"); };
  CHECK(number(R"({"a": 2.5})") == 2.5);
  CHECK(number(R"({"a": -3})") == -3);
  CHECK(shoal::number_in(parse_json<nlohmann::ordered_json>(R"({"b": 1, "a": 2})"), "a") == 2);
  for (const char* text : {"{}", R"({"b": 1})", R"({"a": "1"})", R"({"a": null})", R"({"a": true})",
                           R"({"a": [1]})", "[1]", "1", "null"}) {
    INFO(text);
    CHECK_FALSE(number(text));
  }
}
