#pragma once
// Format of the files that cache listings and scans: a line that names the kind of content, then
// numbers and texts in the machine's byte order (little-endian), then a hash of all these bytes.

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace shoal::data {

class CacheWriter {
 public:
  explicit CacheWriter(std::string_view kind) : out_(kind) {}
  template <class T>
  void value(const T& v) {
    static_assert(std::is_trivially_copyable_v<T>);
    out_.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  void text(std::string_view s) {
    value(uint64_t{s.size()});
    out_ += s;
  }
  template <class T>
  void array(const std::vector<T>& all) {
    static_assert(std::is_trivially_copyable_v<T>);
    value(uint64_t{all.size()});
    out_.append(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(T));
  }
  std::string finish();  // returns the bytes of the file, with the hash

 private:
  std::string out_;
};

// Reads what CacheWriter wrote. `bytes` must outlive the reader. If bytes are missing, damaged or
// of another kind, good() is false from then on, and all reads return zeros or empty texts.
class CacheReader {
 public:
  CacheReader(std::string_view bytes, std::string_view kind);
  template <class T>
  T value() {
    T v{};
    if (take(sizeof v)) std::memcpy(&v, taken_.data(), sizeof v);
    return v;
  }
  std::string text() { return take(value<uint64_t>()) ? std::string(taken_) : std::string(); }
  // Reads the number of items that follow. `bytes_each`: minimum size of an item. If that many
  // items cannot fit into the remaining bytes, returns 0, and good() becomes false.
  uint64_t count(uint64_t bytes_each) {
    const auto n = value<uint64_t>();
    if (n > in_.size() / bytes_each) good_ = false;
    return good_ ? n : 0;
  }
  template <class T>
  void array(std::vector<T>& all) {
    all.resize(count(sizeof(T)));
    if (take(all.size() * sizeof(T)) && !all.empty())
      std::memcpy(static_cast<void*>(all.data()), taken_.data(), taken_.size());
  }
  bool at_end() const { return in_.empty(); }
  bool good() const { return good_; }

 private:
  bool take(uint64_t bytes);
  std::string_view in_, taken_;
  bool good_ = true;
};

// Whether `ends` can be the end offsets of concatenated texts with `size` bytes in total: the
// offsets never decrease, and the last one is `size`.
bool are_ends(const std::vector<uint64_t>& ends, uint64_t size);

// Returns the name of the cache file for `path`, without extension: a hash of `path`.
std::string cache_name(std::string_view path);

// Whether a file with this modification time changed so recently that another change might not
// alter the time.
bool changed_recently(int64_t modified_ns);

// Creates the folder of `path` and writes the file atomically. Throws std::runtime_error that
// contains path and reason and recommends --cache-dir.
void write_cache(const std::string& path, const std::string& bytes);

}  // namespace shoal::data
