// Cache of listings: one file per listed folder. A cached listing is valid if no directory has
// changed, no left-out file (Listing::left_out) in a class folder has changed, and all broken links
// are still broken. A left-out file that has changed may have become an image. Checking a
// directory's modification and change times takes one stat(), which is faster than reading it.
#include <filesystem>

#include "base/file/folder.h"
#include "base/file/whole_file.h"
#include "data/container/cache_file.h"
#include "data/folder/listing.h"

namespace shoal::data {
namespace {

constexpr char kMagic[] = "shoal listing 3\n";

std::string absolute(const std::string& root) {
  return std::filesystem::absolute(root).lexically_normal().string();
}

std::string serialize(const std::string& root, const Listing& listing) {
  CacheWriter w(kMagic);
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
  w.array(listing.name_ends);
  w.text(listing.names);
  w.value(uint64_t{listing.left_out.size()});
  for (const auto& file : listing.left_out) {
    w.text(file.path);
    w.value(file.stamp);
  }
  w.value(listing.hidden);
  return w.finish();
}

// Whether all indices are valid. Another program may have written the cache.
bool is_consistent(const Listing& listing) {
  if (!are_ends(listing.name_ends, listing.names.size()) || listing.directories.empty())
    return false;
  int64_t before = 0;
  for (const Listing::Directory& d : listing.directories) {
    if (d.label < 0 || static_cast<size_t>(d.label) >= listing.classes.size()) return false;
    if (d.first_file < before || d.first_file > listing.files()) return false;
    before = d.first_file;
  }
  return listing.directories[0].first_file == 0;
}

std::optional<Listing> parse(const std::string& root, const std::string& bytes) {
  CacheReader r(bytes, kMagic);
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
  r.array(listing.name_ends);
  listing.names = r.text();
  for (uint64_t n = r.count(8 + sizeof(FileStamp)); n > 0; --n) {
    auto& file = listing.left_out.emplace_back();
    file.path = r.text();
    file.stamp = r.value<FileStamp>();
  }
  listing.hidden = r.value<int64_t>();
  if (!r.good() || !r.at_end() || !is_consistent(listing)) return std::nullopt;
  return listing;
}

// Whether the file can become a sample if its content changes. Files beside the class folders
// cannot; their paths have no slash.
bool may_become_image(const Listing::LeftOutFile& file) {
  return file.path.find('/') != std::string::npos;
}

bool is_unchanged(const std::string& root, const Listing::LeftOutFile& file) {
  const std::string path = root + "/" + file.path;
  if (file.stamp == kBrokenLink) return !path_exists(path);
  return !may_become_image(file) || file_stamp(path) == file.stamp;
}

}  // namespace

std::string listing_cache_path(const std::string& cache_dir, const std::string& root) {
  return cache_dir + "/" + cache_name(absolute(root)) + ".listing";
}

std::optional<Listing> load_listing(const std::string& cache_dir, const std::string& root) {
  const auto bytes = read_if_readable(listing_cache_path(cache_dir, root));
  if (!bytes) return std::nullopt;
  auto listing = parse(root, *bytes);
  if (!listing || directory_stamp(root) != listing->root) return std::nullopt;
  for (const auto& d : listing->directories)
    if (directory_stamp(root + "/" + d.path) != d.stamp) return std::nullopt;
  for (const auto& file : listing->left_out)
    if (!is_unchanged(root, file)) return std::nullopt;
  return listing;
}

bool save_listing(const std::string& cache_dir, const std::string& root, const Listing& listing) {
  if (changed_recently(listing.root.modified_ns)) return false;
  for (const auto& d : listing.directories)
    if (changed_recently(d.stamp.modified_ns)) return false;
  for (const auto& file : listing.left_out)
    if (may_become_image(file) && changed_recently(file.stamp.modified_ns)) return false;
  write_cache(listing_cache_path(cache_dir, root), serialize(root, listing));
  return true;
}

}  // namespace shoal::data
