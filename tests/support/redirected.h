#pragma once
// Collects what a part of a test prints.

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

namespace shoal::test {

// Redirects a file descriptor to a file until the destructor runs.
class Redirected {
 public:
  Redirected(int descriptor, const std::filesystem::path& file)
      : descriptor_(descriptor), kept_(dup(descriptor)) {
    const int opened = open(file.c_str(), O_WRONLY | O_CREAT, 0600);
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

}  // namespace shoal::test
