#include "data/folder/listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <system_error>

#include "base/parallel.h"
#include "base/sorted_order.h"
#include "data/container/image_files.h"

namespace shoal::data {
namespace {

constexpr int kMaxDepth = 40;            // maximum folder depth; more is reported as a link loop
constexpr int64_t kProgressStep = 1000;  // files

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw std::runtime_error("cannot " + what + " " + path + ": " +
                           std::generic_category().message(errno));
}

DirectoryStamp folder_stamp(const struct stat& s) {
  const FileStamp stamp = stamp_of(s);
  return {stamp.modified_ns, stamp.changed_ns};
}

struct Entries {
  DirectoryStamp stamp;
  std::vector<std::string> folders, files;  // sorted
  std::vector<std::string> broken_links;
  int64_t hidden = 0;  // number of hidden files
};

// Returns the type of an entry of the folder `path` after following links; DT_LNK: a broken link.
unsigned char kind_of(int directory, const std::string& path, const dirent& entry) {
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return entry.d_type;
  struct stat s {};
  if (fstatat(directory, entry.d_name, &s, 0) != 0) {
    const int error = errno;
    if (fstatat(directory, entry.d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISLNK(s.st_mode))
      return DT_UNKNOWN;  // the entry was removed or replaced meanwhile
    if (error == ENOENT || error == ENOTDIR || error == ELOOP) return DT_LNK;
    errno = error;
    fail("examine", path + "/" + entry.d_name);
  }
  return S_ISDIR(s.st_mode) ? DT_DIR : S_ISREG(s.st_mode) ? DT_REG : DT_UNKNOWN;
}

Entries read_directory(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  if (!directory) fail("open the folder", path);
  struct stat s {};
  if (fstat(dirfd(directory.get()), &s) != 0) fail("examine the folder", path);
  Entries entries;
  entries.stamp = folder_stamp(s);
  errno = 0;
  while (const dirent* entry = readdir(directory.get())) {
    const unsigned char kind = kind_of(dirfd(directory.get()), path, *entry);
    const bool hidden = entry->d_name[0] == '.';
    if (hidden && kind == DT_REG) ++entries.hidden;
    if (!hidden && kind == DT_DIR) entries.folders.emplace_back(entry->d_name);
    if (!hidden && kind == DT_REG) entries.files.emplace_back(entry->d_name);
    if (!hidden && kind == DT_LNK) entries.broken_links.emplace_back(entry->d_name);
    errno = 0;
  }
  if (errno != 0) fail("read the folder", path);
  std::sort(entries.folders.begin(), entries.folders.end());
  sort_texts(entries.files);
  std::sort(entries.broken_links.begin(), entries.broken_links.end());
  return entries;
}

struct Folder {
  std::string path;
  DirectoryStamp stamp;
  std::vector<std::string> files;
  std::vector<Listing::LeftOutFile> left_out;
  int64_t hidden = 0;
};

// Keeps only the images in `files` (file names in root/path). Returns the removed files.
std::vector<Listing::LeftOutFile> leave_out(const std::string& root, const std::string& path,
                                            std::vector<std::string>& files) {
  std::vector<Listing::LeftOutFile> left_out;
  std::erase_if(files, [&](const std::string& file) {
    const std::string relative = path + "/" + file;
    const std::string whole = root + "/" + relative;
    if (is_image_file(whole)) return false;
    left_out.push_back({relative, file_stamp(whole).value_or(kBrokenLink)});
    return true;
  });
  return left_out;
}

// Returns the error for a folder below too many others. Names a link to a folder that contains the
// link, if there is one. `path`: relative to `root`.
std::invalid_argument nested_too_deep(const std::string& root, const std::string& path) {
  namespace fs = std::filesystem;
  fs::path place = root;
  for (const fs::path& name : fs::path(path)) {
    const fs::path parent = fs::canonical(place);
    place /= name;
    if (!fs::is_symlink(place)) continue;
    const fs::path target = fs::canonical(place);
    const auto ends = std::mismatch(target.begin(), target.end(), parent.begin(), parent.end());
    if (ends.first != target.end()) continue;
    return std::invalid_argument(place.string() + " links to " + target.string() +
                                 ", which contains the link; remove it");
  }
  return std::invalid_argument(root + "/" + path + " is nested more than " +
                               std::to_string(kMaxDepth) + " folders deep");
}

// Lists a class folder and all folders below it, sorted by path.
std::vector<Folder> walk(const std::string& root, const std::string& name) {
  std::vector<Folder> found;
  const auto visit = [&](const auto& self, const std::string& path, int depth) -> void {
    if (depth > kMaxDepth) throw nested_too_deep(root, path);
    Entries entries = read_directory(root + "/" + path);
    auto left_out = leave_out(root, path, entries.files);
    for (const std::string& link : entries.broken_links)
      left_out.push_back({path + "/" + link, kBrokenLink});
    found.push_back(
        {path, entries.stamp, std::move(entries.files), std::move(left_out), entries.hidden});
    for (const std::string& folder : entries.folders) self(self, path + "/" + folder, depth + 1);
  };
  visit(visit, name, 1);
  std::sort(found.begin(), found.end(),
            [](const Folder& a, const Folder& b) { return a.path < b.path; });
  return found;
}

std::vector<std::vector<Folder>> walk_all(const std::string& root,
                                          const std::vector<std::string>& classes, int threads,
                                          const ListingProgress& progress) {
  std::vector<std::vector<Folder>> found(classes.size());
  std::mutex mutex;
  int64_t files = 0;
  for_each_index(classes.size(), threads, [&](size_t i) {
    found[i] = walk(root, classes[i]);
    const std::lock_guard lock(mutex);
    const int64_t before = files;
    for (const Folder& folder : found[i]) files += static_cast<int64_t>(folder.files.size());
    if (progress && files / kProgressStep > before / kProgressStep) progress(files);
  });
  if (progress) progress(files);
  return found;
}

void append(Listing& listing, const std::vector<Folder>& folders, int32_t label) {
  for (const Folder& folder : folders) {
    listing.directories.push_back({folder.path, label, listing.files(), folder.stamp});
    for (const std::string& file : folder.files) {
      listing.names += file;
      listing.name_ends.push_back(listing.names.size());
    }
    listing.left_out.insert(listing.left_out.end(), folder.left_out.begin(), folder.left_out.end());
    listing.hidden += folder.hidden;
  }
}

}  // namespace

const Listing::Directory& Listing::directory_of(int64_t file) const {
  const auto after =
      std::upper_bound(directories.begin(), directories.end(), file,
                       [](int64_t f, const Directory& d) { return f < d.first_file; });
  return *std::prev(after);
}

std::string_view Listing::name_of(int64_t file) const {
  const uint64_t begin = file == 0 ? 0 : name_ends[static_cast<size_t>(file - 1)];
  return std::string_view(names).substr(begin, name_ends[static_cast<size_t>(file)] - begin);
}

Listing list_folder(const std::string& root, int threads, const ListingProgress& progress) {
  const auto stamp = directory_stamp(root);
  if (!stamp) throw std::invalid_argument("the folder " + root + " does not exist");
  Listing listing;
  Entries top = read_directory(root);
  listing.root = top.stamp;
  listing.classes = std::move(top.folders);
  if (listing.classes.empty() && top.files.empty() && top.broken_links.empty())
    throw std::invalid_argument("the folder " + root + " is empty; expected " + root +
                                "/<class>/<images>");
  if (listing.classes.empty())
    throw std::invalid_argument(root + " has no class folders; expected " + root +
                                "/<class>/<images>");
  for (const std::string& file : top.files)
    listing.left_out.push_back({file, file_stamp(root + "/" + file).value_or(kBrokenLink)});
  for (const std::string& link : top.broken_links) listing.left_out.push_back({link, kBrokenLink});
  listing.hidden = top.hidden;
  auto found = walk_all(root, listing.classes, threads, progress);
  for (size_t i = 0; i < found.size(); ++i) {
    const int64_t before = listing.files();
    const size_t others = listing.left_out.size();
    append(listing, found[i], static_cast<int32_t>(i));
    found[i] = {};
    if (listing.files() == before)
      throw std::invalid_argument(
          "the class folder " + root + "/" + listing.classes[i] + " has no image" +
          (listing.left_out.size() > others
               ? " (" + listing.left_out[others].path + " is not an image by name or content)"
               : "") +
          "; add some or remove the folder");
  }
  return listing;
}

std::vector<std::string> file_names(const std::string& folder) {
  return read_directory(folder).files;
}

std::optional<DirectoryStamp> directory_stamp(const std::string& path) {
  struct stat s {};
  if (stat(path.c_str(), &s) != 0 || !S_ISDIR(s.st_mode)) return std::nullopt;
  return folder_stamp(s);
}

}  // namespace shoal::data
