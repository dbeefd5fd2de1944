// Fuzzes labels. The first byte chooses the kind: meta.mat, a file of labels, JSON, or one label.
#include "data/labels/labels.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "data/container/label_text.h"
#include "data/labels/mat_file.h"

using namespace shoal::data;

namespace {

// Reads the text as a file of labels twice: without a file of synsets, and with the same text as
// the file of synsets.
void read_files(std::string_view text) {
  static const int file = ::memfd_create("labels", MFD_CLOEXEC);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, text.data(), text.size(), 0) < 0) return;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  for (const std::string& synsets : {std::string(), path}) {
    try {
      const LabelFile labels(path, synsets, {"cat", "dog"});
      if (labels.class_of("val_00000001.JPEG") >= labels.classes().size()) __builtin_trap();
    } catch (const std::invalid_argument&) {
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (data[0] % 4 == 0) {
    try {
      read_meta_mat(bytes);
    } catch (const std::invalid_argument&) {
    }
  } else if (data[0] % 4 == 1) {
    read_files(text);
  } else {
    data[0] % 4 == 2 ? parse_json_label(text) : parse_label(text);
  }
  return 0;
}
