// An Example is a message with one field, Features: a map from strings to Feature. A Feature
// contains a list of byte strings, a list of floats or a list of integers.
#include "data/records/tf_example.h"

#include <stdexcept>
#include <utility>

#include "data/records/wire_reader.h"

namespace shoal::data {
namespace {

enum FeatureKind : uint64_t { kBytesList = 1, kFloatList = 2, kNumberList = 3 };

class ExampleReader {
 public:
  ExampleReader(const Readable& file, const ExampleKeys& keys) : keys_(keys), wire_(file) {}

  Example run(Extent all) {
    each_message(all, 1, [this](Extent features) {
      each_message(features, 1, [this](Extent entry) { map_entry(entry); });
    });
    if (!has_image_) missing("image", "image", keys_.image);
    if (!keys_.unlabeled && !example_.number && example_.class_name.empty())
      missing("label", "label", keys_.label);
    return std::move(example_);
  }

 private:
  // Calls visit(content) for each length-delimited field with this number.
  template <class Visit>
  void each_message(Extent part, uint64_t number, const Visit& visit) {
    for (WireField field; wire_.next(part, field);)
      if (field.number == number && field.has_length) visit(field.content);
  }

  [[noreturn]] void missing(const char* what, const char* word, const std::string& key) const {
    throw std::invalid_argument("has no " + std::string(what) + " under '" + key + "' (it has: " +
                                found_ + "); name its key with --tfrecord-keys " + word + "=KEY");
  }

  void map_entry(Extent entry) {
    std::string key;
    Extent value;
    for (WireField field; wire_.next(entry, field);) {
      if (!field.has_length) continue;
      if (field.number == 1) key = wire_.text(field.content);
      if (field.number == 2) value = field.content;
    }
    found_ += (found_.empty() ? "" : ", ") + key;
    for (WireField list; wire_.next(value, list);)
      if (list.has_length) feature(key, list.number, list.content);
  }

  void feature(const std::string& key, uint64_t kind, Extent list) {
    if (key == keys_.image) {
      const Extent image = only_bytes(key, kind, list);
      has_image_ = true;
      example_.image = image.begin;
      example_.image_bytes = image.bytes();
    } else if (keys_.unlabeled && (key == keys_.label || key == keys_.class_name)) {
      return;
    } else if (key == keys_.label && kind == kNumberList) {
      example_.number = only_number(key, list);
    } else if (key == keys_.label && kind == kFloatList) {
      throw std::invalid_argument("has a label under '" + key + "' that is not a whole number");
    } else if (key == keys_.label || key == keys_.class_name) {
      example_.class_name = wire_.text(only_bytes(key, kind, list));
    } else if (key == keys_.name) {
      example_.name = wire_.text(only_bytes(key, kind, list));
    }
  }

  Extent only_bytes(const std::string& key, uint64_t kind, Extent list) {
    Extent only{list.begin, list.begin};
    int64_t count = 0;
    each_message(list, 1, [&](Extent value) {
      only = value;
      ++count;
    });
    if (kind != kBytesList || count > 1)
      throw std::invalid_argument("needs one byte string under '" + key + "'; see --tfrecord-keys");
    return only;
  }

  // Returns the number in `list`. Throws std::invalid_argument unless there is exactly one. Numbers
  // may be separate fields or packed into one field.
  int64_t only_number(const std::string& key, Extent list) {
    uint64_t value = 0;
    int64_t count = 0;
    for (WireField field; wire_.next(list, field);) {
      if (field.number != 1) continue;
      if (!field.has_length) {
        value = field.value;
        ++count;
      }
      while (field.has_length && field.content.begin < field.content.end) {
        value = wire_.varint(field.content);
        ++count;
      }
    }
    if (count != 1)
      throw std::invalid_argument("has " + std::to_string(count) + " labels under '" + key +
                                  "'; shoal trains on one label for each image");
    return static_cast<int64_t>(value);
  }

  const ExampleKeys& keys_;
  WireReader wire_;
  Example example_;
  bool has_image_ = false;
  std::string found_;  // all keys of this example, for messages
};

}  // namespace

Example read_example(const Readable& file, uint64_t begin, uint64_t end, const ExampleKeys& keys) {
  return ExampleReader(file, keys).run({begin, end});
}

}  // namespace shoal::data
