#include "data/pack/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/file/whole_file.h"
#include "data/file.h"

namespace shoal::data {

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)), file_(open_file(path_.c_str(), O_RDWR | O_CREAT)) {
  if (!file_.is_open()) throw_file_error("create", path_);
  end_ = static_cast<uint64_t>(::lseek(file_.number(), 0, SEEK_END));
}

void OutputFile::append(const void* bytes, size_t size) {
  if (const int error = write_all(file_.number(), bytes, size))
    throw_file_error("write to", path_, error);
  end_ += size;
}

void OutputFile::write_at(uint64_t offset, const void* bytes, size_t size) {
  seek(offset);
  if (const int error = write_all(file_.number(), bytes, size))
    throw_file_error("write to", path_, error);
  seek(end_);
}

std::vector<uint8_t> OutputFile::read(uint64_t offset, size_t size) const {
  std::vector<uint8_t> bytes(size);
  bytes.resize(static_cast<size_t>(
      read_from(file_.number(), path_, offset, bytes.data(), static_cast<int64_t>(size))));
  return bytes;
}

void OutputFile::truncate(uint64_t size) {
  if (::ftruncate(file_.number(), static_cast<off_t>(size)) != 0)
    throw_file_error("shorten", path_);
  seek(end_ = size);
}

void OutputFile::flush() {
  if (const int error = flush_file(file_.number())) throw_file_error("flush", path_, error);
}

void OutputFile::publish(const std::string& path) {
  flush();
  if (const int error = file_.close()) throw_file_error("close", path_, error);
  move_into_place(path_, path);
}

void OutputFile::seek(uint64_t offset) {
  if (::lseek(file_.number(), static_cast<off_t>(offset), SEEK_SET) < 0)
    throw_file_error("seek in", path_);
}

}  // namespace shoal::data
