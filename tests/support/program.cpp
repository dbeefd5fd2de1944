#include "program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "data/synthetic.h"

extern char** environ;

namespace shoal::test {
namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::stringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string shoal_program() {
  return std::string(SHOAL_BINARY_DIR) + "/shoal";
}

Outcome run_shoal(const std::vector<std::string>& words,
                  const std::vector<std::string>& environment,
                  const std::function<bool(pid_t)>& watch, double limit_seconds) {
  return run_program(shoal_program(), words, environment, watch, limit_seconds);
}

Outcome run_program(const std::string& program, const std::vector<std::string>& words,
                    const std::vector<std::string>& environment,
                    const std::function<bool(pid_t)>& watch, double limit_seconds) {
  const TemporaryDirectory scratch;
  const std::string out = (scratch.path() / "out").string();
  const std::string err = (scratch.path() / "err").string();
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> variables;
  for (char** v = environ; *v; ++v) variables.push_back(*v);
  for (const auto& v : environment) variables.push_back(const_cast<char*>(v.c_str()));
  variables.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY | O_CREAT, 0644);
  posix_spawn_file_actions_addopen(&files, 2, err.c_str(), O_WRONLY | O_CREAT, 0644);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int failed =
      posix_spawn(&pid, program.c_str(), &files, &attributes, argv.data(), variables.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  REQUIRE(failed == 0);

  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  int status = 0;
  bool late = false;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    late = std::chrono::duration<double>(Clock::now() - start).count() > limit_seconds;
    if (late || (watch && watch(pid))) ::kill(-pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  Outcome outcome;
  outcome.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  outcome.out = read_text(out);
  outcome.err = read_text(err);
  INFO(outcome.err);
  REQUIRE_FALSE(late);
  return outcome;
}

void make_pictures(const fs::path& root, int train, int val, int classes, int side) {
  data::SyntheticOptions options;
  options.pictures = options.distinct = train + val;
  options.classes = classes;
  options.width = options.height = side;
  const auto pictures = data::make_synthetic(options);
  std::vector<uint8_t> bytes;
  for (int i = 0; i < train + val; ++i) {
    const auto label = static_cast<size_t>(pictures->label(i));
    const fs::path folder = root / (i < train ? "train" : "val") / pictures->classes()[label];
    fs::create_directories(folder);
    pictures->read(i, bytes);
    std::ofstream(folder / (std::to_string(i) + ".jpg"), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
}

}  // namespace shoal::test
