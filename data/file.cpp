#include "data/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>
#include <utility>

#include "data/errors.h"

namespace shoal::data {
namespace {

struct stat status_of(int descriptor, const std::string& path) {
  struct stat s {};
  if (::fstat(descriptor, &s) != 0) throw FileFailure("examine", path, errno);
  return s;
}

Descriptor open_to_read(const std::string& path, int flags = 0) {
  Descriptor file = open_file(path.c_str(), O_RDONLY | flags);
  if (!file.is_open()) throw FileFailure("open", path, errno);
  return file;
}

}  // namespace

int64_t read_from(int descriptor, const std::string& path, uint64_t offset, void* to,
                  int64_t bytes) {
  const int64_t count = shoal::read_at(descriptor, to, static_cast<size_t>(bytes), offset);
  if (count < 0) throw FileFailure("read", path, errno);
  return count;
}

FileFailure::FileFailure(const char* what, const std::string& path, int error)
    : std::runtime_error("cannot " + std::string(what) + " " + path + ": " +
                         std::generic_category().message(error)),
      what_failed_("cannot " + std::string(what) +
                   " it: " + std::generic_category().message(error)),
      error_(error) {}

int64_t ReadableMemory::read_at(uint64_t offset, void* to, int64_t bytes) const {
  const uint64_t left = offset < bytes_.size() ? bytes_.size() - offset : 0;
  const auto count = static_cast<size_t>(std::min<uint64_t>(left, static_cast<uint64_t>(bytes)));
  if (count > 0) std::memcpy(to, bytes_.data() + offset, count);
  return static_cast<int64_t>(count);
}

// For Reads::forward: reads the file in pieces of 4 MiB and keeps the last two. Skips a piece that
// cannot be read and leaves a hole. File::read_at() then reads only the requested bytes of the hole
// from the file, so a bad disk block damages only the images stored in this block.
class File::Window {
 public:
  // Like File::read_at(). Returns -1 if some bytes precede the kept pieces or are in a hole.
  int64_t read_at(const File& file, uint64_t offset, uint8_t* to, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!begun_) latest_.begin = offset;
    begun_ = true;
    int64_t done = 0;
    while (done < bytes) {
      const uint64_t at = offset + static_cast<uint64_t>(done);
      while (at >= latest_.end() && !ended_) advance(file);
      if (at >= latest_.end()) break;
      const Piece* piece = latest_.holds(at) ? &latest_ : earlier_.holds(at) ? &earlier_ : nullptr;
      if (piece == nullptr) return -1;
      const auto count = std::min<int64_t>(bytes - done, static_cast<int64_t>(piece->end() - at));
      std::memcpy(to + done, piece->bytes.data() + (at - piece->begin), static_cast<size_t>(count));
      done += count;
    }
    return done;
  }

 private:
  static constexpr size_t kPieceBytes = size_t{4} << 20;
  struct Piece {
    uint64_t begin = 0;
    std::vector<uint8_t> bytes;
    uint64_t end() const { return begin + bytes.size(); }
    bool holds(uint64_t at) const { return at >= begin && at < end(); }
  };

  void advance(const File& file) {
    Piece next = std::move(earlier_);  // reuses the memory of earlier_
    earlier_ = std::move(latest_);
    next.begin = earlier_.end();
    next.bytes.resize(kPieceBytes);
    try {
      next.bytes.resize(static_cast<size_t>(
          read_from(file.file_.number(), file.path_, next.begin, next.bytes.data(), kPieceBytes)));
      ended_ = next.bytes.size() < kPieceBytes;
    } catch (const FileFailure&) {
      next.begin += kPieceBytes;
      next.bytes.clear();
    }
    latest_ = std::move(next);
  }

  std::mutex mutex_;
  Piece earlier_, latest_;
  bool begun_ = false, ended_ = false;
};

File::File(std::string path, Reads reads) : path_(std::move(path)), file_(open_to_read(path_)) {
  if (reads == Reads::scattered) ::posix_fadvise(file_.number(), 0, 0, POSIX_FADV_RANDOM);
  if (reads != Reads::forward) return;
  window_ = std::make_unique<Window>();
  ::posix_fadvise(file_.number(), 0, 0, POSIX_FADV_SEQUENTIAL);
}

File::File(Descriptor file, std::string path) : path_(std::move(path)), file_(std::move(file)) {}

File::~File() = default;

FileStamp stamp_of(const struct stat& s) {
  const auto nanoseconds = [](const timespec& time) {
    return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
  };
  return {s.st_size, nanoseconds(s.st_mtim), nanoseconds(s.st_ctim)};
}

std::optional<FileStamp> file_stamp(const std::string& path) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0 || !S_ISREG(s.st_mode)) return std::nullopt;
  return stamp_of(s);
}

FileStamp File::stamp() const {
  return stamp_of(status_of(file_.number(), path_));
}

bool File::is_regular() const {
  return S_ISREG(status_of(file_.number(), path_).st_mode);
}

int64_t File::read_at(uint64_t offset, void* to, int64_t bytes) const {
  const int64_t count =
      window_ ? window_->read_at(*this, offset, static_cast<uint8_t*>(to), bytes) : -1;
  if (count >= 0) return count;
  return read_from(file_.number(), path_, offset, to, bytes);
}

void File::will_read(uint64_t offset, uint64_t bytes) const {
  if (!window_)
    ::posix_fadvise(file_.number(), static_cast<off_t>(offset), static_cast<off_t>(bytes),
                    POSIX_FADV_WILLNEED);
}

void throw_for_image(const FileFailure& failure) {
  if (failure.error() == EIO) throw DamagedImage(failure.what_failed());
  throw failure;
}

void read_fully(const File& file, uint64_t offset, void* to, int64_t bytes) {
  int64_t count = 0;
  try {
    count = file.read_at(offset, to, bytes);
  } catch (const FileFailure& failure) {
    throw_for_image(failure);
  }
  if (count < bytes)
    throw std::runtime_error(file.path() + " has become shorter since its images were found");
}

void will_read_file(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  const Descriptor file = open_to_read(path, O_NONBLOCK);
  ::posix_fadvise(file.number(), 0, 0, POSIX_FADV_WILLNEED);
}

int64_t read_file(const std::string& path, int64_t most, std::vector<uint8_t>& bytes) {
  const Descriptor file = open_to_read(path);
  const int64_t size = status_of(file.number(), path).st_size;
  if (size > most) return size;
  bytes.resize(static_cast<size_t>(size));
  bytes.resize(static_cast<size_t>(read_from(file.number(), path, 0, bytes.data(), size)));
  return size;
}

}  // namespace shoal::data
