#pragma once
// Collects what a part of a test prints.

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <string>

namespace shoal::test {

// Redirects a file descriptor to a file or a pipe until the destructor runs.
class Redirected {
 public:
  Redirected(int descriptor, const std::filesystem::path& file)
      : Redirected(descriptor, open(file.c_str(), O_WRONLY | O_CREAT, 0600)) {}
  // Closes `opened`, the descriptor of the file or pipe.
  Redirected(int descriptor, int opened) : descriptor_(descriptor), kept_(dup(descriptor)) {
    REQUIRE(opened >= 0);
    dup2(opened, descriptor);
    close(opened);
  }
  ~Redirected() {
    dup2(kept_, descriptor_);
    close(kept_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  int descriptor_, kept_;
};

// Returns what `function` writes to stderr, at most 64 KB. Uses a pipe, because a test may limit
// the size of files.
inline std::string stderr_of(const std::function<void()>& function) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  {
    const Redirected err(STDERR_FILENO, ends[1]);
    function();
  }
  std::string text(65536, '\0');
  const ssize_t size = read(ends[0], text.data(), text.size());
  close(ends[0]);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

}  // namespace shoal::test
