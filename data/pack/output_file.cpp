#include "data/pack/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "data/file.h"

namespace shoal::data {

OutputFile::OutputFile(std::string path, bool anew) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | (anew ? O_TRUNC : 0), 0644);
  if (descriptor_ < 0) fail("create");
  end_ = static_cast<uint64_t>(::lseek(descriptor_, 0, SEEK_END));
}

OutputFile::~OutputFile() {
  ::close(descriptor_);
}

void OutputFile::append(const void* bytes, size_t size) {
  write_at(end_, bytes, size);
  end_ += size;
}

void OutputFile::write_at(uint64_t offset, const void* bytes, size_t size) {
  const auto* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t done = ::pwrite(descriptor_, at, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail("write to");
    at += done, offset += static_cast<uint64_t>(done), size -= static_cast<size_t>(done);
  }
}

std::vector<uint8_t> OutputFile::read(uint64_t offset, size_t size) const {
  std::vector<uint8_t> bytes(size);
  bytes.resize(static_cast<size_t>(
      read_from(descriptor_, path_, offset, bytes.data(), static_cast<int64_t>(size))));
  return bytes;
}

void OutputFile::cut(uint64_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) fail("shorten");
  end_ = size;
}

void OutputFile::flush() {
  if (::fsync(descriptor_) != 0) fail("flush");
}

void OutputFile::fail(const char* what) const {
  throw std::runtime_error("cannot " + std::string(what) + " " + path_ + ": " +
                           std::generic_category().message(errno));
}

}  // namespace shoal::data
