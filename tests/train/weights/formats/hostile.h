#pragma once
// Builds small files in the format of torch.save, including ones that Python would not write.

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace shoal::train {

inline std::string little_endian(uint64_t value, size_t bytes) {
  return {reinterpret_cast<const char*>(&value), bytes};
}

// Return the pickle of a value: an integer of at most 32 bits, a text, a tuple.
inline std::string pickled(int64_t value) {
  return "J" + little_endian(static_cast<uint64_t>(value), 4);
}
inline std::string pickled(const std::string& text) {
  return "X" + little_endian(text.size(), 4) + text;
}
inline std::string pickled(const std::vector<int64_t>& values) {
  std::string text = "(";
  for (const int64_t value : values) text += pickled(value);
  return text + "t";
}

struct HandMadeTensor {
  int64_t offset = 0;
  std::vector<int64_t> sizes, strides;
  std::string storage = "0", type = "FloatStorage";
};

inline std::string pickled(const HandMadeTensor& tensor) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + pickled("storage") + "ctorch\n" + tensor.type +
         "\n" + pickled(tensor.storage) + pickled("cpu") + pickled(4) + "tQ" +
         pickled(tensor.offset) + pickled(tensor.sizes) + pickled(tensor.strides) + "\x89}tR";
}

// Returns the pickle of a dict. `items`: its keys and values, already pickled.
inline std::string pickled_dict(const std::string& items) {
  return "\x80\x02}(" + items + "u.";
}

struct ZipOptions {
  uint16_t method = 0;  // 8: deflate
};

// Returns a zip archive. `files`: (name, content). Contents are never compressed, even if
// options.method says so.
inline std::vector<char> zip_of(const std::vector<std::pair<std::string, std::string>>& files,
                                const ZipOptions& options = {}) {
  std::string bytes, directory;
  for (const auto& [name, content] : files) {
    const std::string sizes = little_endian(content.size(), 4) + little_endian(content.size(), 4);
    const std::string common = little_endian(0, 2) + little_endian(options.method, 2) +
                               little_endian(0, 4) + little_endian(0, 4) + sizes +
                               little_endian(name.size(), 2) + little_endian(0, 2);
    directory += "PK\1\2" + little_endian(20, 2) + little_endian(20, 2) + common +
                 little_endian(0, 2) + little_endian(0, 8) + little_endian(bytes.size(), 4) + name;
    bytes += "PK\3\4" + little_endian(20, 2) + common + name + content;
  }
  const uint64_t start = bytes.size();
  bytes += directory + "PK\5\6" + little_endian(0, 4) + little_endian(files.size(), 2) +
           little_endian(files.size(), 2) + little_endian(directory.size(), 4) +
           little_endian(start, 4) + little_endian(0, 2);
  return {bytes.begin(), bytes.end()};
}

}  // namespace shoal::train
