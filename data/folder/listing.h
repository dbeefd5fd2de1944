#pragma once
// The files in a folder of class folders, stored compactly for millions of images, and their cache
// on disk.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/file.h"

namespace shoal::data {

// When a directory last changed. Equal stamps mean that no entry was added, removed or renamed.
struct DirectoryStamp {
  int64_t modified_ns = 0, changed_ns = 0;
  friend bool operator==(const DirectoryStamp&, const DirectoryStamp&) = default;
};

constexpr FileStamp kBrokenLink = {-1, 0, 0};  // stamp of a broken link in a listing

struct Listing {
  struct Directory {
    std::string path;        // relative to the root: "n01440764" or "n01440764/more"
    int32_t label = 0;       // index into classes
    int64_t first_file = 0;  // its files are [first_file, first_file of the next directory)
    DirectoryStamp stamp;
  };
  DirectoryStamp root;
  std::vector<std::string> classes;    // names of the class folders, sorted bytewise
  std::vector<Directory> directories;  // every directory below the root, sorted by class and path
  std::vector<uint64_t> name_ends;     // for each file: offset of its name's end in `names`
  std::string names;                   // all file names, concatenated
  // Files beside the class folders, files in class folders that are not images by name or content
  // (container/image_files.h), and broken links. Paths are relative to the root. If the stamp of a
  // file changes, the file may have become an image.
  struct LeftOutFile {
    std::string path;
    FileStamp stamp;
  };
  std::vector<LeftOutFile> left_out;
  int64_t hidden = 0;  // number of files whose names start with a dot; also left out

  int64_t files() const { return static_cast<int64_t>(name_ends.size()); }
  const Directory& directory_of(int64_t file) const;
  std::string_view name_of(int64_t file) const;
};

// Called repeatedly with the number of files found so far. Calls come from any thread, but never
// from two at once.
using ListingProgress = std::function<void(int64_t files)>;

// Lists `root` in the order of torchvision's ImageFolder. Each folder in `root` is a class; classes
// are sorted by name. A class includes its folders at any depth (links are followed), sorted by
// path, and the files of each folder, sorted by name. All orders are bytewise. Leaves out names
// with an initial dot, broken links, files beside the class folders, and files that are not images
// by name or content. Uses `threads` threads. Throws std::invalid_argument for user errors
// (no such folder, no class folder in it, a class without images, a loop of links),
// std::runtime_error with path and reason for system errors.
Listing list_folder(const std::string& root, int threads, const ListingProgress& progress = {});

// Returns the sorted names of the files in a folder. Skips names with an initial dot; follows
// links. Throws std::runtime_error if the folder cannot be read.
std::vector<std::string> file_names(const std::string& folder);

// Returns the cached listing of `root` in `cache_dir`. Returns nothing if there is none, if it is
// damaged, or if a directory, a left-out file in a class folder or a broken link has changed since.
std::optional<Listing> load_listing(const std::string& cache_dir, const std::string& root);

// Writes the cached listing atomically; creates `cache_dir`. Returns false without writing if a
// directory, or a left-out file in a class folder, changed so recently that another change might
// not alter its timestamp. Throws what write_cache() throws.
bool save_listing(const std::string& cache_dir, const std::string& root, const Listing& listing);

// Returns the path of the cached listing of `root`.
std::string listing_cache_path(const std::string& cache_dir, const std::string& root);

// Returns the stamp of a directory, or nothing if it is not a directory.
std::optional<DirectoryStamp> directory_stamp(const std::string& path);

}  // namespace shoal::data
