#include <cmath>
#include <stdexcept>
#include <string_view>

#include "base/text.h"
#include "data/limits.h"
#include "data/records/tf_example.h"

namespace shoal::data {
namespace {

[[noreturn]] void refuse_keys(const std::string& word, const std::string& what) {
  throw std::invalid_argument("--tfrecord-keys: '" + word + "' " + what);
}

template <class T>
T number_in(std::string_view text, const std::string& word) {
  const auto value = parse_number<T>(text);
  if (!value) refuse_keys(word, "needs a number after the =");
  return *value;
}

void read_shape(std::string_view text, const std::string& word, ExampleKeys& keys) {
  int64_t sides[3] = {};
  const std::string_view whole = text;
  for (int i = 0; i < 3; ++i) {
    const size_t end = i < 2 ? text.find('x') : text.size();
    if (end == std::string_view::npos)
      refuse_keys(word, "must be HxWxC or CxHxW, for example 32x32x3");
    sides[i] = number_in<int64_t>(text.substr(0, end), word);
    text.remove_prefix(i < 2 ? end + 1 : end);
  }
  const auto is_channels = [](int64_t n) { return n == 1 || n == 3; };
  keys.planar = !is_channels(sides[2]);
  const int64_t* size = keys.planar ? sides + 1 : sides;
  keys.height = size[0];
  keys.width = size[1];
  keys.channels = keys.planar ? sides[0] : sides[2];
  if (whole.empty() || !is_channels(keys.channels) || keys.height < 1 || keys.width < 1 ||
      keys.height > kMaxPixels / keys.width)
    refuse_keys(word, "must be HxWxC or CxHxW with 1 or 3 channels");
}

ExampleKeys::Raw raw_type(std::string_view text, const std::string& word) {
  if (text == "uint8") return ExampleKeys::Raw::uint8;
  if (text == "float32") return ExampleKeys::Raw::float32;
  if (text == "float64") return ExampleKeys::Raw::float64;
  refuse_keys(word, "must be uint8, float32 or float64");
}

void read_pair(const std::string& word, ExampleKeys& keys) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals + 1 == word.size())
    refuse_keys(word, "is not understood; write image=KEY,label=KEY");
  const std::string_view name = std::string_view(word).substr(0, equals);
  const std::string_view value = std::string_view(word).substr(equals + 1);
  if (name == "image") {
    keys.image = value;
  } else if (name == "label") {
    keys.label = value;
  } else if (name == "class") {
    keys.class_name = value;
  } else if (name == "name") {
    keys.name = value;
  } else if (name == "label-offset") {
    keys.label_offset = number_in<int64_t>(value, word);
  } else if (name == "raw") {
    keys.raw = raw_type(value, word);
  } else if (name == "shape") {
    read_shape(value, word, keys);
  } else if (name == "scale") {
    keys.scale = number_in<double>(value, word);
    if (!std::isfinite(keys.scale) || keys.scale <= 0) refuse_keys(word, "must be above 0");
  } else {
    refuse_keys(
        word,
        "is unknown; valid keys are image, label, class, name, label-offset, raw, shape and "
        "scale");
  }
}

}  // namespace

ExampleKeys parse_example_keys(const std::string& text) {
  ExampleKeys keys;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    read_pair(text.substr(begin, end - begin), keys);
    begin = end + 1;
  }
  const bool raw = keys.raw != ExampleKeys::Raw::no, shaped = keys.height > 0;
  if (raw != shaped) refuse_keys(text, "must set both raw and shape");
  if (!raw && keys.scale != 1) refuse_keys(text, "has a scale without raw");
  return keys;
}

}  // namespace shoal::data
