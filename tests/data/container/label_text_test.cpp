#include "data/container/label_text.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace shoal::data;
using Texts = std::vector<std::string>;

TEST_CASE("labels are numbers, 0 or more, or one-line names") {
  CHECK(parse_label(" 12\r\n") == LabelText{12, ""});
  CHECK(parse_label("n01440764\n") == LabelText{kNoNumber, "n01440764"});
  CHECK(parse_label("great white shark") == LabelText{kNoNumber, "great white shark"});
  for (const std::string& bad :
       Texts{"", " \n", "a\nb", "-3", "99999999999", std::string(201, 'x')})
    CHECK_FALSE(parse_label(bad));
  CHECK(parse_json_label("3") == LabelText{3, ""});
  CHECK(parse_json_label("\"cat\"") == LabelText{kNoNumber, "cat"});
  CHECK(parse_json_label("{\"class_name\": \"cat\"}") == LabelText{kNoNumber, "cat"});
  for (const char* bad : {"1.5", "-1", "[1]", "null", "{\"label\": [1]}"})
    CHECK_FALSE(parse_json_label(bad));
}
