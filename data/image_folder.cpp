#include "data/image_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "data/errors.h"
#include "data/limits.h"
#include "data/listing.h"

namespace shoal::data {
namespace {

class File {
 public:
  explicit File(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) fail("open");
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int64_t size() const {
    struct stat s {};
    if (fstat(fd_, &s) != 0) fail("examine");
    return s.st_size;
  }

  // Reads up to `bytes` bytes; fewer only at the end of the file.
  int64_t read(uint8_t* to, int64_t bytes) const {
    int64_t done = 0;
    while (done < bytes) {
      const ssize_t n = ::read(fd_, to + done, static_cast<size_t>(bytes - done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("read");
      if (n == 0) break;
      done += n;
    }
    return done;
  }

 private:
  // What is wrong with this file alone is a damaged picture; the rest (no memory, no descriptors)
  // would hit the next one too.
  [[noreturn]] void fail(const char* what) const {
    const std::string reason = std::generic_category().message(errno);
    switch (errno) {
      case EACCES:
      case EPERM:
      case ENOENT:
      case EIO:
      case ESTALE:
      case EISDIR:
      case ELOOP:
        throw DamagedPicture("cannot " + std::string(what) + " it: " + reason);
      default:
        throw std::runtime_error("cannot " + std::string(what) + " " + path_ + ": " + reason);
    }
  }
  const std::string& path_;
  int fd_;
};

class ImageFolder : public Dataset {
 public:
  ImageFolder(std::string root, Listing listing)
      : root_(std::move(root)), listing_(std::move(listing)) {}

  int64_t size() const override { return listing_.files(); }
  const std::vector<std::string>& classes() const override { return listing_.classes; }
  int32_t label(int64_t sample) const override { return listing_.directory_of(sample).label; }
  std::string name(int64_t sample) const override {
    std::string path = root_;
    path += '/';
    path += listing_.directory_of(sample).path;
    path += '/';
    path += listing_.name_of(sample);
    return path;
  }
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override {
    const std::string path = name(sample);
    const File file(path);
    const int64_t size = file.size();
    if (size > kMaxFileBytes)
      throw DamagedPicture("a file of " + std::to_string(size) +
                           " bytes is too large for a picture");
    bytes.resize(static_cast<size_t>(size));
    bytes.resize(static_cast<size_t>(file.read(bytes.data(), size)));
  }

 private:
  std::string root_;
  Listing listing_;
};

Listing list_or_load(const std::string& path, const ImageFolderOptions& options) {
  if (options.cache_dir.empty()) return list_folder(path, options.threads, options.progress);
  if (auto cached = load_listing(options.cache_dir, path)) return std::move(*cached);
  Listing listing = list_folder(path, options.threads, options.progress);
  try {
    save_listing(options.cache_dir, path, listing);
  } catch (const std::exception& error) {
    if (options.warning) options.warning(error.what());
  }
  return listing;
}

}  // namespace

std::shared_ptr<const Dataset> open_image_folder(const std::string& path,
                                                 const ImageFolderOptions& options) {
  std::string root = path;
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  return std::make_shared<ImageFolder>(root, list_or_load(root, options));
}

}  // namespace shoal::data
