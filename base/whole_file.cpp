#include "base/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <system_error>

#include "base/descriptor.h"
#include "base/text.h"

namespace shoal {
namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const fs::path& path, const char* what = "write", int error = errno) {
  throw std::runtime_error(std::string("cannot ") + what + " " + path.string() + ": " +
                           std::generic_category().message(error));
}

fs::path directory_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

fs::path temporary_name(const fs::path& path, const WholeFileOptions& options) {
  std::string name = path.filename().string();
  // The name includes the time, because processes on different hosts may have the same id.
  if (options.concurrent)
    name += strf(".%d-%llx", ::getpid(),
                 static_cast<unsigned long long>(
                     std::chrono::system_clock::now().time_since_epoch().count()));
  return options.aside.empty() ? directory_of(path) / ("." + name + ".part") : options.aside / name;
}

void rename_to(const fs::path& part, const fs::path& path) {
  if (::rename(part.c_str(), path.c_str()) != 0) fail(path);
}

// Ignores the error of file systems that cannot flush directories (some network mounts).
void flush_directory_of(const fs::path& path) {
  const Descriptor file(::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file.is_open() || ::fsync(file.number()) == 0) return;
  if (errno != EINVAL && errno != ENOTSUP && errno != EROFS) fail(path);
}

}  // namespace

void write_whole(const fs::path& path, const std::function<void(const ByteSink&)>& produce,
                 const WholeFileOptions& options) {
  const fs::path part = temporary_name(path, options);
  try {
    Descriptor file(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file.is_open()) fail(path);
    produce([&](const void* bytes, size_t size) {
      if (const int error = write_all(file.number(), bytes, size)) fail(path, "write", error);
    });
    if (options.flush && ::fsync(file.number()) != 0) fail(path);
    if (const int error = file.close()) fail(path, "write", error);
    rename_to(part, path);
  } catch (...) {
    ::unlink(part.c_str());  // frees its space, in case the disk is full
    throw;
  }
  if (options.flush) flush_directory_of(path);
}

void write_whole(const fs::path& path, const std::string& text, const WholeFileOptions& options) {
  write_whole(
      path, [&](const ByteSink& sink) { sink(text.data(), text.size()); }, options);
}

void move_into_place(const fs::path& part, const fs::path& path) {
  rename_to(part, path);
  flush_directory_of(path);
}

void flush_file_system(const fs::path& folder) {
  const Descriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file.is_open() || ::syncfs(file.number()) != 0) fail(folder, "flush");
}

std::vector<char> read_whole_file(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!file.is_open() || ::fstat(file.number(), &info) != 0) fail(path, "read");
  std::vector<char> bytes(static_cast<size_t>(info.st_size));
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t done = ::read(file.number(), bytes.data() + have, bytes.size() - have);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(path, "read");
    if (done == 0) break;
    have += static_cast<size_t>(done);
  }
  bytes.resize(have);
  return bytes;
}

}  // namespace shoal
