#include "data/container/open_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace shoal::data {

OpenFiles::OpenFiles(std::vector<SourceFile> files, size_t most, Reads reads)
    : files_(std::move(files)),
      most_(std::max<size_t>(most, 1)),
      reads_(reads),
      open_(files_.size()) {}

std::shared_ptr<const File> OpenFiles::open(uint32_t file) const {
  {
    const std::lock_guard lock(mutex_);
    if (open_[file]) {
      if (reads_ == Reads::forward) used(file);
      return open_[file];
    }
  }
  auto opened = std::make_shared<const File>(files_[file].path, reads_);
  const FileStamp now = opened->stamp(), &then = files_[file].stamp;
  // Ignores changed_ns: a new owner, for example, changes it but not the content.
  if (now.bytes != then.bytes || now.modified_ns != then.modified_ns)
    throw std::runtime_error(files_[file].path +
                             " has changed since its images were found; start again");
  std::shared_ptr<const File> closing;  // freed outside the lock
  const std::lock_guard lock(mutex_);
  if (open_[file]) return open_[file];  // another thread was first
  if (order_.size() >= most_) {
    closing = std::move(open_[order_.front()]);
    order_.pop_front();
  }
  open_[file] = opened;
  order_.push_back(file);
  return opened;
}

// Makes `file` the last to be closed. Needed only with Reads::forward, where closing a file drops
// its pieces of 4 MiB from memory, so they must be read again.
void OpenFiles::used(uint32_t file) const {
  if (order_.back() == file) return;
  order_.erase(std::find(order_.begin(), order_.end(), file));
  order_.push_back(file);
}

void OpenFiles::close_all() const {
  std::vector<std::shared_ptr<const File>> closing(files_.size());  // freed outside the lock
  const std::lock_guard lock(mutex_);
  open_.swap(closing);
  order_.clear();
}

size_t OpenFiles::open_now() const {
  const std::lock_guard lock(mutex_);
  return order_.size();
}

size_t open_files_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 1024;
  return std::clamp<size_t>(limit.rlim_cur / 4, 1, 1024);
}

std::vector<SourceFile> stamped(const std::vector<std::string>& paths) {
  std::vector<SourceFile> files;
  for (const std::string& path : paths) {
    const File file(path);
    if (!file.is_regular()) throw std::invalid_argument(path + " is not a file");
    files.push_back({path, file.stamp()});
  }
  return files;
}

}  // namespace shoal::data
