// The cache of a listing: one file per listed folder, little-endian as the machine is, ended by a
// hash of everything before it. It is taken as valid when every directory it saw still has the same
// modification and change times, which costs one stat() per directory instead of reading them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <type_traits>

#include "data/listing.h"
#include "data/pixel_hash.h"

namespace shoal::data {
namespace {

constexpr char kMagic[] = "shoal listing 1\n";
constexpr int64_t kRecentNs = 2'000'000'000;  // coarser than the clock of any file system in use

class Writer {
 public:
  template <class T>
  void value(const T& v) {
    static_assert(std::is_trivially_copyable_v<T>);
    out.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  void text(const std::string& s) {
    value(uint64_t{s.size()});
    out += s;
  }
  std::string out;
};

// Reads what Writer wrote; `good` turns false, and stays so, where the bytes do not suffice.
class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}
  template <class T>
  T value() {
    T v{};
    if (take(sizeof v)) std::memcpy(&v, taken_.data(), sizeof v);
    return v;
  }
  std::string text() { return take(value<uint64_t>()) ? std::string(taken_) : std::string(); }
  // A count of things that take at least `bytes_each`.
  uint64_t count(uint64_t bytes_each) {
    const auto n = value<uint64_t>();
    if (n > in_.size() / bytes_each) good = false;
    return good ? n : 0;
  }
  bool at_end() const { return in_.empty(); }
  bool good = true;

 private:
  bool take(uint64_t bytes) {
    if (bytes > in_.size()) good = false;
    if (!good) return false;
    taken_ = in_.substr(0, bytes);
    in_.remove_prefix(bytes);
    return true;
  }
  std::string_view in_, taken_;
};

std::string absolute(const std::string& root) {
  return std::filesystem::absolute(root).lexically_normal().string();
}

std::string serialise(const std::string& root, const Listing& listing) {
  Writer w;
  w.out = kMagic;
  w.text(absolute(root));
  w.value(listing.root);
  w.value(uint64_t{listing.classes.size()});
  for (const std::string& name : listing.classes) w.text(name);
  w.value(uint64_t{listing.directories.size()});
  for (const auto& d : listing.directories) {
    w.text(d.path);
    w.value(d.label);
    w.value(d.first_file);
    w.value(d.stamp);
  }
  w.value(uint64_t{listing.name_ends.size()});
  w.out.append(reinterpret_cast<const char*>(listing.name_ends.data()),
               listing.name_ends.size() * 8);
  w.text(listing.names);
  w.value(hash_bytes(w.out.data(), static_cast<int64_t>(w.out.size())));
  return std::move(w.out);
}

std::optional<Listing> parse(const std::string& root, std::string_view bytes) {
  constexpr size_t kMagicLength = sizeof kMagic - 1;
  if (bytes.size() < kMagicLength + 8 || bytes.substr(0, kMagicLength) != kMagic)
    return std::nullopt;
  const std::string_view body = bytes.substr(0, bytes.size() - 8);
  if (Reader(bytes.substr(body.size())).value<uint64_t>() !=
      hash_bytes(body.data(), static_cast<int64_t>(body.size())))
    return std::nullopt;
  Reader r(body.substr(kMagicLength));
  if (r.text() != absolute(root)) return std::nullopt;
  Listing listing;
  listing.root = r.value<DirectoryStamp>();
  for (uint64_t n = r.count(8); n > 0; --n) listing.classes.push_back(r.text());
  for (uint64_t n = r.count(8); n > 0; --n) {
    auto& d = listing.directories.emplace_back();
    d.path = r.text();
    d.label = r.value<int32_t>();
    d.first_file = r.value<int64_t>();
    d.stamp = r.value<DirectoryStamp>();
  }
  listing.name_ends.resize(r.count(8));
  for (uint64_t& end : listing.name_ends) end = r.value<uint64_t>();
  listing.names = r.text();
  if (!r.good || !r.at_end()) return std::nullopt;
  return listing;
}

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return std::nullopt;
  std::string bytes(static_cast<size_t>(file.tellg()), '\0');
  file.seekg(0);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) return std::nullopt;
  return bytes;
}

}  // namespace

std::string listing_cache_path(const std::string& cache_dir, const std::string& root) {
  const std::string path = absolute(root);
  char name[48];
  std::snprintf(
      name, sizeof name, "%016llx.listing",
      static_cast<unsigned long long>(hash_bytes(path.data(), static_cast<int64_t>(path.size()))));
  return cache_dir + "/" + name;
}

std::optional<Listing> load_listing(const std::string& cache_dir, const std::string& root) {
  const auto bytes = read_file(listing_cache_path(cache_dir, root));
  if (!bytes) return std::nullopt;
  auto listing = parse(root, *bytes);
  if (!listing || directory_stamp(root) != listing->root) return std::nullopt;
  for (const auto& d : listing->directories)
    if (directory_stamp(root + "/" + d.path) != d.stamp) return std::nullopt;
  return listing;
}

bool save_listing(const std::string& cache_dir, const std::string& root, const Listing& listing) {
  using namespace std::chrono;
  const int64_t now = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
  const auto recent = [now](const DirectoryStamp& s) { return s.modified_ns > now - kRecentNs; };
  if (recent(listing.root)) return false;
  for (const auto& d : listing.directories)
    if (recent(d.stamp)) return false;

  std::filesystem::create_directories(cache_dir);
  const std::string path = listing_cache_path(cache_dir, root);
  const std::string temporary = path + "." + std::to_string(getpid());
  const std::string bytes = serialise(root, listing);
  std::ofstream file(temporary, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    throw std::runtime_error("cannot write the listing cache " + path);
  }
  return true;
}

}  // namespace shoal::data
