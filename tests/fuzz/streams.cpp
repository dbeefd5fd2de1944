// Fuzzes streams from pipes: tars, TFRecord, RecordIO.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "data/sources/any_stream.h"

using namespace shoal::data;

namespace {

class FuzzedSource : public ByteSource {
 public:
  FuzzedSource(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  size_t read(void* to, size_t bytes) override {
    const size_t count = std::min(bytes, size_ - at_);
    if (count > 0) std::memcpy(to, data_ + at_, count);
    at_ += count;
    return count;
  }
  uint64_t position() const override { return at_; }
  const std::string& name() const override { return name_; }

 private:
  const uint8_t* data_;
  size_t size_, at_ = 0;
  std::string name_ = "fuzzed";
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const StreamLabels labels({"cat", "dog", "n01", "n02", "n04"});
  static const ExampleKeys keys;
  FuzzedSource source(data, size);
  const auto stream = open_record_stream(source, labels, keys);
  try {
    for (StreamImage image; stream->next(image);)
      if (image.bytes.size() > size || image.label < 0 || image.label > 4) __builtin_trap();
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
