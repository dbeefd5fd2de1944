#include "train/report/appended_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file/whole_file.h"
#include "base/log.h"

namespace shoal::train {
namespace {

Descriptor open_to_append(const std::filesystem::path& path) {
  Descriptor file = open_file(path.c_str(), O_RDWR | O_APPEND | O_CREAT);
  if (!file.is_open()) throw_file_error("write", path);
  return file;
}

}  // namespace

AppendedFile::AppendedFile(std::filesystem::path path, const std::string& content)
    : path_(std::move(path)) {
  create_folders(path_.parent_path());
  write_whole(path_, content);
  file_ = open_to_append(path_);
}

AppendedFile::AppendedFile(std::filesystem::path path) : path_(std::move(path)) {}

AppendedFile::~AppendedFile() {
  if (!unwritten_.empty())
    log::warning(path_.string() + " is incomplete: its last lines could not be written");
  if (const int error = file_.close())
    log::warning("cannot close " + path_.string() + ": " + std::generic_category().message(error) +
                 "; its last lines may be missing");
}

void AppendedFile::open_lines() {
  Descriptor file = open_to_append(path_);
  const std::vector<char> bytes = read_whole_file(path_);
  const auto torn = std::find(bytes.rbegin(), bytes.rend(), '\n') - bytes.rbegin();
  const off_t whole = static_cast<off_t>(bytes.size()) - torn;
  if (torn > 0 && ::ftruncate(file.number(), whole) != 0) throw_file_error("shorten", path_);
  file_ = std::move(file);
}

// Returns false if the file was removed or replaced after it was opened.
bool AppendedFile::is_in_place() const {
  struct stat named {
  }, opened{};
  return ::stat(path_.c_str(), &named) == 0 && ::fstat(file_.number(), &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

std::string AppendedFile::bytes() const {
  std::string bytes;
  char buffer[65536];
  for (;;) {
    const int64_t got = read_at(file_.number(), buffer, sizeof buffer, bytes.size());
    if (got < 0) throw_file_error("read", path_);
    if (got == 0) return bytes + unwritten_;
    bytes.append(buffer, static_cast<size_t>(got));
  }
}

void AppendedFile::append(std::string_view bytes) {
  unwritten_ += bytes;
  try {
    if (!file_.is_open()) open_lines();
    if (is_in_place()) {
      const off_t before = ::lseek(file_.number(), 0, SEEK_END);
      if (const int error = write_all(file_.number(), unwritten_.data(), unwritten_.size())) {
        const off_t written = ::lseek(file_.number(), 0, SEEK_END) - before;
        unwritten_.erase(0, static_cast<size_t>(written));
        throw_file_error("write", path_, error);
      }
    } else {
      write_whole(path_, this->bytes());  // bytes() reads the removed file, which is still open
      file_ = open_to_append(path_);
      log::warning(path_.string() + " was removed or replaced; wrote it again");
    }
    unwritten_.clear();
    failing_ = false;
  } catch (const std::system_error& error) {
    if (!failing_)
      log::warning(std::string(error.what()) +
                   "; the run continues, and writes the missing lines when the file is writable");
    failing_ = true;
  }
}

}  // namespace shoal::train
