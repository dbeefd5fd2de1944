#pragma once
// Makes system calls of this process fail, as a full disk or an old file system would.
//
// Compile failing_calls.cpp into the test program: its definitions of open, opendir, flock, fsync,
// syncfs, rename, close, readdir and write replace those of the C library, for the library under
// test and for the standard library.

#include <atomic>
#include <functional>
#include <string>

namespace shoal::test {

// While this object exists, the first `times` calls of `function` whose path matches fail with the
// errno `error`. For open and opendir, the path is the argument; for rename, "FROM TO"; for the
// other functions, the path of the open file. `matches` may be called by several threads. Only one
// object may exist at a time.
class FailingCalls {
 public:
  FailingCalls(std::string function, std::function<bool(const std::string& path)> matches,
               int error, int times = 1 << 30);
  ~FailingCalls();
  FailingCalls(const FailingCalls&) = delete;
  FailingCalls& operator=(const FailingCalls&) = delete;

  int count() const { return count_; }  // calls that failed
  int seen() const { return seen_; }    // calls that matched
  // Called by the functions that replace those of the C library. Counts the call if function and
  // path match. Returns true and sets errno if the call must fail.
  bool fails(const std::string& function, const std::string& path);

 private:
  std::string function_;
  std::function<bool(const std::string& path)> matches_;
  int error_, times_;
  std::atomic<int> count_ = 0, seen_ = 0;
};

}  // namespace shoal::test
