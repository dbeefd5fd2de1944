#include "base/file/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/file/descriptor.h"
#include "base/file/folder.h"
#include "base/log.h"
#include "base/text.h"

namespace shoal {
namespace fs = std::filesystem;

namespace {

constexpr const char* kPart = ".part";  // extension of temporary files
constexpr size_t kBufferBytes = 1 << 20;

fs::path temporary_name(const fs::path& path, const WholeFileOptions& options) {
  std::string name = path.filename().string();
  // The name includes the time, because processes on different hosts may have the same process ID.
  if (options.concurrent)
    name += strf(".%d-%llx", ::getpid(),
                 static_cast<unsigned long long>(
                     std::chrono::system_clock::now().time_since_epoch().count()));
  return (options.aside.empty() ? parent_folder(path) : options.aside) / ("." + name + kPart);
}

void rename_to(const fs::path& part, const fs::path& path) {
  if (::rename(part.c_str(), path.c_str()) != 0) throw_file_error("write", path);
}

// Flushes a folder with `call`, which returns 0 or an errno. Logs one warning per process if the
// file system does not support this (some network mounts) or if this user may not read the folder.
void flush_by(int (*call)(int descriptor), const fs::path& folder) {
  static std::atomic<bool> warned{false};
  const Descriptor file = open_file(folder.c_str(), O_RDONLY | O_DIRECTORY);
  const int error = file.is_open() ? call(file.number()) : errno;
  if (error == 0) return;
  constexpr int kUnsupported[] = {EINVAL, ENOTSUP, ENOSYS, EROFS, EACCES};
  if (std::ranges::find(kUnsupported, error) == std::end(kUnsupported))
    throw_file_error("flush", folder, error);
  if (!warned.exchange(true))
    log::warning("the file system cannot flush the folder " + folder.string() + " (" +
                 std::generic_category().message(error) +
                 "): a power loss may undo the newest files");
}

}  // namespace

void write_whole(const fs::path& path, const std::function<void(const ByteSink&)>& produce,
                 const WholeFileOptions& options) {
  const bool special = is_special(path);
  const fs::path part = special ? path : temporary_name(path, options);
  try {
    Descriptor file = open_file(
        part.c_str(), special ? O_WRONLY | O_APPEND : O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
    if (!file.is_open()) throw_file_error("write", path);
    std::vector<char> buffer;  // some producers pass thousands of small pieces
    const auto write = [&](const void* bytes, size_t size) {
      if (const int error = write_all(file.number(), bytes, size))
        throw_file_error("write", path, error);
    };
    produce([&](const void* bytes, size_t size) {
      if (buffer.size() + size > kBufferBytes) {
        write(buffer.data(), buffer.size());
        buffer.clear();
      }
      if (size > kBufferBytes) return write(bytes, size);
      const char* const first = static_cast<const char*>(bytes);
      buffer.insert(buffer.end(), first, first + size);
    });
    write(buffer.data(), buffer.size());
    if (options.flush && !special)
      if (const int error = flush_file(file.number())) throw_file_error("write", path, error);
    if (const int error = file.close()) throw_file_error("write", path, error);
    if (special) return;
    if (options.before_rename) options.before_rename();
    rename_to(part, path);
  } catch (...) {
    if (!special) ::unlink(part.c_str());  // frees the space, because the disk may be full
    throw;
  }
  if (options.flush) flush_folder(parent_folder(path));
}

void write_whole(const fs::path& path, const std::string& text, const WholeFileOptions& options) {
  write_whole(
      path, [&](const ByteSink& sink) { sink(text.data(), text.size()); }, options);
}

void move_into_place(const fs::path& part, const fs::path& path) {
  rename_to(part, path);
  flush_folder(parent_folder(path));
}

bool can_rename(const fs::path& from, const fs::path& to) {
  const std::string name = std::string(".shoal-probe") + kPart;
  const Descriptor file = open_file((from / name).c_str(), O_WRONLY | O_CREAT);
  if (!file.is_open()) return false;
  const bool renamed = ::rename((from / name).c_str(), (to / name).c_str()) == 0;
  ::unlink(((renamed ? to : from) / name).c_str());
  return renamed;
}

void remove_parts(const fs::path& folder,
                  const std::function<bool(const fs::path& name)>& is_ours) {
  std::error_code error;  // ignored: remaining unfinished files do no harm
  for (const auto& left : entries_of(folder, error)) {
    const std::string file = left.path().filename().string();
    if (!file.starts_with(".") || !file.ends_with(kPart)) continue;
    if (is_ours(file.substr(1, file.size() - 1 - std::string_view(kPart).size())))
      fs::remove(left.path(), error);
  }
}

fs::path parent_folder(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

bool is_special(const fs::path& path) {
  std::error_code none;
  if (fs::is_other(path, none)) return true;
  if (!fs::exists(path, none)) return false;
  // /proc represents open descriptors as links. /dev/stdout is a link to one of them, and /dev/fd
  // is a link to their folder.
  const auto is_in_proc = [&none](const fs::path& link) {
    return fs::canonical(parent_folder(link), none).string().starts_with("/proc/");
  };
  return is_in_proc(path) || (fs::is_symlink(path, none) &&
                              is_in_proc(parent_folder(path) / fs::read_symlink(path, none)));
}

fs::path existing_parent(const fs::path& path) {
  fs::path place = fs::absolute(path);
  std::error_code error;
  while (!fs::exists(place, error) && place.has_relative_path()) place = place.parent_path();
  return place;
}

bool can_create_in(const fs::path& folder) {
  // The name is always the same, so the next call removes a probe that a killed process left.
  const fs::path probe = folder / ".shoal-probe";
  return (::mkdir(probe.c_str(), 0700) == 0 || errno == EEXIST) &&
         (::rmdir(probe.c_str()) == 0 || errno == ENOENT);
}

void create_folders(const fs::path& folder) {
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) throw std::system_error(error, "cannot create the folder " + folder.string());
}

void flush_folder(const fs::path& folder) {
  flush_by(flush_file, folder);
}

void flush_file_system(const fs::path& folder) {
  const auto flush = [](int descriptor) {
    while (::syncfs(descriptor) != 0)
      if (errno != EINTR) return errno;
    return 0;
  };
  flush_by(flush, folder);
}

std::vector<char> read_whole_file(const fs::path& path) {
  const Descriptor file = open_file(path.c_str(), O_RDONLY);
  struct stat info {};
  if (!file.is_open() || ::fstat(file.number(), &info) != 0) throw_file_error("read", path);
  std::vector<char> bytes(static_cast<size_t>(info.st_size));
  const int64_t count = read_at(file.number(), bytes.data(), bytes.size(), 0);
  if (count < 0) throw_file_error("read", path);
  bytes.resize(static_cast<size_t>(count));
  return bytes;
}

std::optional<std::string> read_if_readable(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text;
  char buffer[1 << 14];
  while (file.read(buffer, sizeof buffer) || file.gcount() > 0)
    text.append(buffer, static_cast<size_t>(file.gcount()));
  if (file.bad()) return std::nullopt;
  return text;
}

std::vector<std::string> read_lines(const fs::path& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw_file_error("read", path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    line.resize(line.find_last_not_of("\r ") + 1);
    if (lines.empty()) line.erase(0, byte_order_mark(line));
    lines.push_back(std::move(line));
  }
  if (file.bad()) throw_file_error("read", path);
  return lines;
}

}  // namespace shoal
