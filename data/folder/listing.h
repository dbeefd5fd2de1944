#pragma once
// The list of files of a folder of class folders, compact enough for millions of images, and its
// cache on disk.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/file.h"

namespace shoal::data {

// When a directory last changed; equal stamps mean that no entry was added, removed or renamed.
struct DirectoryStamp {
  int64_t modified_ns = 0, changed_ns = 0;
  friend bool operator==(const DirectoryStamp&, const DirectoryStamp&) = default;
};

struct Listing {
  struct Directory {
    std::string path;        // relative to the root: "n01440764" or "n01440764/more"
    int32_t label = 0;       // index into classes
    int64_t first_file = 0;  // files of this directory are [first_file, first_file of the next)
    DirectoryStamp stamp;
  };
  DirectoryStamp root;
  std::vector<std::string> classes;    // names of the class folders, bytewise sorted
  std::vector<Directory> directories;  // every directory below the root, by class and path
  std::vector<uint64_t> name_ends;     // per file: where its name ends in `names`
  std::string names;                   // all file names, one after the other
  // Files that are no images by name or content (image_files.h), by class and path below the root;
  // with their stamps, since other content may make images of them.
  struct LeftOutFile {
    std::string path;
    FileStamp stamp;
  };
  std::vector<LeftOutFile> left_out;
  int64_t hidden = 0;  // files whose names begin with a dot: left out too

  int64_t files() const { return static_cast<int64_t>(name_ends.size()); }
  const Directory& directory_of(int64_t file) const;
  std::string_view name_of(int64_t file) const;
};

// Called with the number of files found so far, now and then, one call at a time, from any thread.
using ListingProgress = std::function<void(int64_t files)>;

// Lists `root` as torchvision's ImageFolder orders it: each folder in it is a class, by name;
// inside a class, folders (however deep, links followed) by path, files by name; all bytewise.
// Names that begin with a dot are left out, and files that are no images by name or content.
// Class folders are read by `threads` threads. Throws std::invalid_argument
// for what the user must mend (no such folder, no class folder in it, a class without an image),
// std::runtime_error with path and reason where the system fails.
Listing list_folder(const std::string& root, int threads, const ListingProgress& progress = {});

// The cached listing of `root` in `cache_dir`, if there is one, it is whole, and every directory and
// every left out file is as it was.
std::optional<Listing> load_listing(const std::string& cache_dir, const std::string& root);

// Writes the cache (atomically; creates `cache_dir`). Returns false without writing when a
// directory or a left out file changed so recently that a later change might not move its time. Throws
// std::runtime_error.
bool save_listing(const std::string& cache_dir, const std::string& root, const Listing& listing);

// Where the listing of `root` is cached.
std::string listing_cache_path(const std::string& cache_dir, const std::string& root);

// Of a directory; nothing when it is not there.
std::optional<DirectoryStamp> directory_stamp(const std::string& path);
// Of a regular file, likewise.
std::optional<FileStamp> file_stamp(const std::string& path);

}  // namespace shoal::data
