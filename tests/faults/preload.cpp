// A library for LD_PRELOAD: passes the file system calls of a program to Faults.

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "faults.h"

// The function of this name in the next loaded library, usually the C library.
#define NEXT(name) reinterpret_cast<decltype(&::name)>(::dlsym(RTLD_NEXT, #name))

namespace {

using shoal::faults::Call;
using shoal::faults::Faults;

// Creates the instance even if the program makes no call: the instance's constructor sets
// kFirstProcess for child processes.
[[gnu::constructor]] void load() {
  Faults::instance();
}

template <typename Real>
auto with_path(Call call, int folder, const char* path, const Real& real) {
  const auto place = Faults::instance().below(folder, path);
  if (!place) return real(0);
  call.path = *place;
  return static_cast<decltype(real(0))>(Faults::instance().perform(call, real));
}

template <typename Real>
auto with_descriptor(Call call, const Real& real) {
  const auto path = Faults::instance().path_of(call.descriptor);
  if (!path) return real(call.size);
  call.path = *path;
  return static_cast<decltype(real(0))>(Faults::instance().perform(call, real));
}

int open_file(int folder, const char* path, int flags, va_list more) {
  static const auto real = NEXT(openat);
  const bool creates = (flags & (O_CREAT | O_TMPFILE)) != 0;
  const mode_t mode = creates ? va_arg(more, mode_t) : 0;
  return with_path({"open", "", -1, flags}, folder, path,
                   [&](size_t) { return real(folder, path, flags, mode); });
}

FILE* open_stream(const char* path, const char* mode) {
  static const auto real = NEXT(fopen);
  int flags = mode[0] == 'r' ? O_RDONLY : O_WRONLY | O_CREAT;
  if (mode[0] == 'w') flags |= O_TRUNC;
  if (mode[0] == 'a') flags |= O_APPEND;
  FILE* stream = nullptr;
  with_path({"open", "", -1, flags}, AT_FDCWD, path, [&](size_t) {
    stream = real(path, mode);
    return stream ? ::fileno(stream) : -1;
  });
  return stream;
}

int rename_file(int from_folder, const char* from, int to_folder, const char* to) {
  static const auto real = NEXT(renameat);
  Call call{"rename"};
  call.from = Faults::instance().below(from_folder, from).value_or("");
  return with_path(call, to_folder, to,
                   [&](size_t) { return real(from_folder, from, to_folder, to); });
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int descriptor = open_file(AT_FDCWD, path, flags, more);
  va_end(more);
  return descriptor;
}
int openat(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int descriptor = open_file(folder, path, flags, more);
  va_end(more);
  return descriptor;
}
FILE* fopen(const char* path, const char* mode) {
  return open_stream(path, mode);
}
DIR* opendir(const char* path) {
  static const auto real = NEXT(opendir);
  DIR* folder = nullptr;
  with_path({"open", "", -1, O_DIRECTORY}, AT_FDCWD, path, [&](size_t) {
    folder = real(path);
    return folder ? ::dirfd(folder) : -1;
  });
  return folder;
}
dirent* readdir(DIR* folder) {
  static const auto real = NEXT(readdir);
  dirent* entry = nullptr;
  with_descriptor({"list", "", ::dirfd(folder)}, [&](size_t) {
    entry = real(folder);
    return entry ? 1 : 0;
  });
  return entry;
}

int close(int descriptor) {
  static const auto real = NEXT(close);
  return with_descriptor({"close", "", descriptor}, [&](size_t) { return real(descriptor); });
}
int fclose(FILE* stream) {
  static const auto real = NEXT(fclose);
  return with_descriptor({"close", "", ::fileno(stream)}, [&](size_t) { return real(stream); });
}
int closedir(DIR* folder) {
  static const auto real = NEXT(closedir);
  return with_descriptor({"close", "", ::dirfd(folder)}, [&](size_t) { return real(folder); });
}

ssize_t read(int descriptor, void* to, size_t size) {
  static const auto real = NEXT(read);
  return with_descriptor({"read", "", descriptor, -1, "", nullptr, size},
                         [&](size_t most) { return real(descriptor, to, most); });
}
ssize_t pread(int descriptor, void* to, size_t size, off_t offset) {
  static const auto real = NEXT(pread);
  return with_descriptor({"read", "", descriptor, offset, "", nullptr, size},
                         [&](size_t most) { return real(descriptor, to, most, offset); });
}
ssize_t write(int descriptor, const void* bytes, size_t size) {
  static const auto real = NEXT(write);
  return with_descriptor({"write", "", descriptor, -1, "", bytes, size},
                         [&](size_t most) { return real(descriptor, bytes, most); });
}
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  static const auto real = NEXT(pwrite);
  return with_descriptor({"write", "", descriptor, offset, "", bytes, size},
                         [&](size_t most) { return real(descriptor, bytes, most, offset); });
}
ssize_t writev(int descriptor, const iovec* parts, int count) {
  static const auto real = NEXT(writev);
  if (!Faults::instance().path_of(descriptor)) return real(descriptor, parts, count);
  std::string bytes;
  for (int i = 0; i < count; ++i)
    bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  return write(descriptor, bytes.data(), bytes.size());
}

int fsync(int descriptor) {
  static const auto real = NEXT(fsync);
  return with_descriptor({"fsync", "", descriptor}, [&](size_t) { return real(descriptor); });
}
int fdatasync(int descriptor) {
  static const auto real = NEXT(fdatasync);
  return with_descriptor({"fsync", "", descriptor}, [&](size_t) { return real(descriptor); });
}
int syncfs(int descriptor) noexcept {
  static const auto real = NEXT(syncfs);
  return with_descriptor({"fsync", "", descriptor, 1}, [&](size_t) { return real(descriptor); });
}
int flock(int descriptor, int operation) noexcept {
  static const auto real = NEXT(flock);
  return with_descriptor({"flock", "", descriptor},
                         [&](size_t) { return real(descriptor, operation); });
}
int ftruncate(int descriptor, off_t length) noexcept {
  static const auto real = NEXT(ftruncate);
  return with_descriptor({"truncate", "", descriptor, length},
                         [&](size_t) { return real(descriptor, length); });
}

int rename(const char* from, const char* to) noexcept {
  return rename_file(AT_FDCWD, from, AT_FDCWD, to);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return rename_file(from_folder, from, to_folder, to);
}
int unlink(const char* path) noexcept {
  static const auto real = NEXT(unlink);
  return with_path({"unlink"}, AT_FDCWD, path, [&](size_t) { return real(path); });
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  static const auto real = NEXT(unlinkat);
  return with_path({"unlink"}, folder, path, [&](size_t) { return real(folder, path, flags); });
}
int remove(const char* path) noexcept {
  static const auto real = NEXT(remove);
  return with_path({"unlink"}, AT_FDCWD, path, [&](size_t) { return real(path); });
}
int rmdir(const char* path) noexcept {
  static const auto real = NEXT(rmdir);
  return with_path({"unlink"}, AT_FDCWD, path, [&](size_t) { return real(path); });
}
int mkdir(const char* path, mode_t mode) noexcept {
  static const auto real = NEXT(mkdir);
  return with_path({"mkdir"}, AT_FDCWD, path, [&](size_t) { return real(path, mode); });
}

// Programs with 64-bit file offsets call these names.
#define SAME_AS(name) __attribute__((alias(#name)))
int open64(const char* path, int flags, ...) SAME_AS(open);
int openat64(int folder, const char* path, int flags, ...) SAME_AS(openat);
FILE* fopen64(const char* path, const char* mode) SAME_AS(fopen);
dirent64* readdir64(DIR* folder) SAME_AS(readdir);
ssize_t pread64(int descriptor, void* to, size_t size, off64_t offset) SAME_AS(pread);
ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) SAME_AS(pwrite);
int ftruncate64(int descriptor, off64_t length) noexcept SAME_AS(ftruncate);

}  // extern "C"
