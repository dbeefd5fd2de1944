#pragma once
// Finds the image and the label in a tf.Example by reading the protocol buffers wire format.
// Sources: tensorflow/core/example/{example,feature}.proto; protobuf.dev, "Encoding".

#include <cstdint>
#include <optional>
#include <string>

#include "data/file.h"

namespace shoal::data {

// Which features to look for: the value of --tfrecord-keys, a list of image=KEY, label=KEY,
// class=KEY, name=KEY, label-offset=N, raw=uint8|float32|float64, shape=HxWxC or CxHxW, scale=X,
// separated by commas. Settings that are not given keep their defaults.
struct ExampleKeys {
  std::string image = "image/encoded";            // an encoded image or, if raw is set, a tensor
  std::string label = "image/class/label";        // a number, or the class's name as bytes
  std::string class_name = "image/class/synset";  // optional bytes feature
  std::string name = "image/filename";            // optional bytes feature
  // Label of the first class. Unset: 1 if the key is image/class/label and no label is 0, else 0.
  std::optional<int64_t> label_offset;
  // Returns the label of the first class, assuming that no label is 0.
  int64_t first_label() const {
    return label_offset.value_or(label == ExampleKeys().label ? 1 : 0);
  }

  enum class Raw { no, uint8, float32, float64 };
  Raw raw = Raw::no;                            // element type of a tensor; Raw::no if encoded
  int64_t height = 0, width = 0, channels = 0;  // shape of the tensor; 1 or 3 channels
  bool planar = false;                          // true: C×H×W, false: H×W×C
  double scale = 1;                             // factor that converts elements to 0 … 255

  bool unlabeled = false;  // ignores label and class_name, which may be missing
};

// Parses the value of --tfrecord-keys. Throws std::invalid_argument naming the option.
ExampleKeys parse_example_keys(const std::string& text);

struct Example {
  uint64_t image = 0, image_bytes = 0;  // offset and size in the file
  std::optional<int64_t> number;        // the label, if it is a number
  std::string class_name, name;         // empty if missing
};

// Parses the example in [begin, end) of `file` without reading the image. Throws
// std::invalid_argument if the bytes are not a tf.Example or contain no image or label. The message
// begins with a verb, so that the caller can prepend the record's name.
Example read_example(const Readable& file, uint64_t begin, uint64_t end, const ExampleKeys& keys);

}  // namespace shoal::data
