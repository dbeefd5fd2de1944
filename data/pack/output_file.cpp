#include "data/pack/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "base/file/whole_file.h"
#include "data/file.h"

namespace shoal::data {

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)), file_(open_file(path_.c_str(), O_RDWR | O_CREAT)) {
  if (!file_.is_open()) fail("create", errno);
  end_ = static_cast<uint64_t>(::lseek(file_.number(), 0, SEEK_END));
}

void OutputFile::append(const void* bytes, size_t size) {
  if (const int error = write_all(file_.number(), bytes, size)) fail("write to", error);
  end_ += size;
}

void OutputFile::write_at(uint64_t offset, const void* bytes, size_t size) {
  seek(offset);
  if (const int error = write_all(file_.number(), bytes, size)) fail("write to", error);
  seek(end_);
}

std::vector<uint8_t> OutputFile::read(uint64_t offset, size_t size) const {
  std::vector<uint8_t> bytes(size);
  bytes.resize(static_cast<size_t>(
      read_from(file_.number(), path_, offset, bytes.data(), static_cast<int64_t>(size))));
  return bytes;
}

void OutputFile::truncate(uint64_t size) {
  if (::ftruncate(file_.number(), static_cast<off_t>(size)) != 0) fail("shorten", errno);
  seek(end_ = size);
}

void OutputFile::flush() {
  if (const int error = flush_file(file_.number())) fail("flush", error);
}

void OutputFile::publish(const std::string& path) {
  flush();
  if (const int error = file_.close()) fail("close", error);
  move_into_place(path_, path);
}

void OutputFile::seek(uint64_t offset) {
  if (::lseek(file_.number(), static_cast<off_t>(offset), SEEK_SET) < 0) fail("seek in", errno);
}

void OutputFile::fail(const char* what, int error) const {
  throw std::runtime_error("cannot " + std::string(what) + " " + path_ + ": " +
                           std::generic_category().message(error));
}

}  // namespace shoal::data
