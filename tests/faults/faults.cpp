#include "faults.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

namespace shoal::faults {
namespace {

namespace fs = std::filesystem;

// Environment variable with the process id of a job's first process. Child processes inherit it.
constexpr const char* kFirstProcess = "SHOAL_FAULTS_FIRST";

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value ? value : "";
}

bool matches(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

bool needs_space(const Call& call) {
  return call.kind == "write" || call.kind == "mkdir" ||
         (call.kind == "open" && (call.place & O_CREAT) != 0);
}

}  // namespace

Faults& Faults::instance() {
  static auto* const faults = new Faults;
  return *faults;
}

Faults::Faults() : under_(variable("SHOAL_FAULTS_UNDER")) {
  const std::string rank = variable("RANK"), program = ::program_invocation_short_name;
  role_ = program == "shoal" ? "launcher" : "rank" + (rank.empty() ? "0" : rank);
  // Use the system call, because preload.cpp replaces open().
  if (const std::string file = variable("SHOAL_FAULTS_JOURNAL"); !file.empty())
    journal_ = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, file.c_str(),
                                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  content_ = !variable("SHOAL_FAULTS_CONTENT").empty();
  std::istringstream at(variable("SHOAL_FAULTS_AT"));
  std::string number;
  for (std::string* part :
       {&trigger_.role, &trigger_.kind, &trigger_.path, &number, &trigger_.action})
    std::getline(at, *part, '\t');
  trigger_.number = std::atoll(number.c_str());
  ::setenv(kFirstProcess, std::to_string(::getpid()).c_str(), /*overwrite=*/0);
}

std::optional<std::string> Faults::below(int folder, const char* path) const {
  if (under_.empty() || !path) return std::nullopt;
  fs::path full = path;
  if (full.is_relative()) {
    const std::string link = folder == AT_FDCWD ? std::string("/proc/self/cwd")
                                                : "/proc/self/fd/" + std::to_string(folder);
    char start[4096];
    const ssize_t length = ::readlink(link.c_str(), start, sizeof start);
    if (length <= 0) return std::nullopt;
    full = std::string(start, static_cast<size_t>(length)) / full;
  }
  std::string name = full.lexically_normal().string();
  if (name.size() > 1 && name.back() == '/') name.pop_back();
  if (name == under_) return ".";
  if (name.compare(0, under_.size() + 1, under_ + "/") != 0) return std::nullopt;
  return name.substr(under_.size() + 1);
}

std::optional<std::string> Faults::path_of(int descriptor) {
  const std::lock_guard lock(mutex_);
  const auto entry = open_.find(descriptor);
  return entry == open_.end() ? std::nullopt : std::optional(entry->second);
}

int64_t Faults::perform(Call call, const std::function<int64_t(size_t)>& real) {
  std::unique_lock lock(mutex_);
  const std::string action = due(call);
  if (action == "hang") {
    record(call, -1, action);
    lock.unlock();
    for (;;) ::pause();
  }
  if (action.rfind("kill", 0) == 0) {
    record(call, -1, action);
    die(action == "killall");
  }
  if (call.kind == "close") open_.erase(call.descriptor);
  if (!action.empty() && action != "short") {
    if (call.kind == "close") real(0);  // a failed close() also closes the descriptor
    record(call, -1, action);
    errno = std::atoi(action.c_str());
    return -1;
  }
  if (action == "short" && call.size > 1) call.size /= 2;
  const int64_t result = real(call.size);
  const int error = result < 0 ? errno : 0;
  if (call.kind == "open" && result >= 0) open_[static_cast<int>(result)] = call.path;
  if (call.kind == "write" && result >= 0 && call.place < 0)
    call.place = ::lseek(call.descriptor, 0, SEEK_CUR) - result;
  record(call, result, error ? std::to_string(error) : action);
  errno = error;
  return result;
}

std::string Faults::due(const Call& call) {
  if (full_ && needs_space(call)) return trigger_.action;
  if (trigger_.number == 0 || !matches(trigger_.role, role_) ||
      !matches(trigger_.kind, call.kind) || !matches(trigger_.path, call.path) ||
      ++seen_ != trigger_.number)
    return "";
  full_ = trigger_.action.back() == '+';
  return trigger_.action;
}

// Writes a line: role, process, kind, path, descriptor, place, old path, result, error or action,
// and the number of bytes that follow the line.
void Faults::record(const Call& call, int64_t result, const std::string& error) const {
  if (journal_ < 0) return;
  const bool opens = call.kind == "open", wrote = call.kind == "write" && result > 0;
  const size_t size = content_ && wrote ? static_cast<size_t>(result) : 0;
  std::ostringstream line;
  line << role_ << '\t' << ::getpid() << '\t' << call.kind << '\t' << call.path << '\t'
       << (opens ? result : call.descriptor) << '\t' << call.place << '\t' << call.from << '\t'
       << result << '\t' << error << '\t' << size << '\n';
  const std::string text = line.str();
  const iovec parts[] = {{const_cast<char*>(text.data()), text.size()},
                         {const_cast<void*>(call.bytes), size}};
  ::syscall(SYS_writev, journal_, parts, 2);
}

void Faults::die(bool with_first_process) {
  const int first = std::atoi(variable(kFirstProcess).c_str());
  if (with_first_process && first > 0 && first != ::getpid()) ::kill(first, SIGKILL);
  ::kill(::getpid(), SIGKILL);
  ::_exit(127);
}

}  // namespace shoal::faults
