#include "tests/support/failing_calls.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <utility>

namespace shoal::test {
namespace {

FailingCalls* active = nullptr;

std::string path_of(int descriptor) {
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  char path[4096];
  const ssize_t size = ::readlink(link.c_str(), path, sizeof path);
  return {path, size > 0 ? static_cast<size_t>(size) : 0};
}

template <class Function, class... Arguments>
auto next(const char* name, Function*, Arguments... arguments) {
  auto* const real = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
  return real(arguments...);
}

}  // namespace

FailingCalls::FailingCalls(std::string function, std::function<bool(const std::string&)> matches,
                           int error, int times)
    : function_(std::move(function)), matches_(std::move(matches)), error_(error), times_(times) {
  active = this;
}

FailingCalls::~FailingCalls() {
  active = nullptr;
}

bool FailingCalls::fails(const std::string& function, const std::string& path) {
  if (function != function_ || !matches_(path)) return false;
  ++seen_;
  if (count_ >= times_) return false;
  ++count_;
  errno = error_;
  return true;
}

bool fails(const char* function, int descriptor) {
  return active && active->fails(function, path_of(descriptor));
}

bool fails(const char* function, const std::string& path) {
  return active && active->fails(function, path);
}

}  // namespace shoal::test

using shoal::test::fails;
using shoal::test::next;

extern "C" {

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (fails("open", std::string(path))) return -1;
  return next("openat", &::openat, AT_FDCWD, path, flags, mode);
}

DIR* opendir(const char* path) {
  return fails("opendir", std::string(path)) ? nullptr : next("opendir", &::opendir, path);
}

int flock(int descriptor, int operation) noexcept {
  return fails("flock", descriptor) ? -1 : next("flock", &::flock, descriptor, operation);
}

int fsync(int descriptor) {
  return fails("fsync", descriptor) ? -1 : next("fsync", &::fsync, descriptor);
}

int syncfs(int descriptor) noexcept {
  return fails("syncfs", descriptor) ? -1 : next("syncfs", &::syncfs, descriptor);
}

int rename(const char* from, const char* to) noexcept {
  if (fails("rename", std::string(from) + " " + to)) return -1;
  return next("rename", &::rename, from, to);
}

int close(int descriptor) {
  const bool broken = fails("close", descriptor);
  const int error = errno;
  const int result = next("close", &::close, descriptor);  // Linux closes it even if close() fails
  if (!broken) return result;
  errno = error;
  return -1;
}

dirent* readdir(DIR* folder) {
  return fails("readdir", ::dirfd(folder)) ? nullptr : next("readdir", &::readdir, folder);
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  return fails("write", descriptor) ? -1 : next("write", &::write, descriptor, bytes, size);
}
}
