#pragma once
// Records a program's file system calls below one directory and injects faults into them.
// preload.cpp passes the calls to this class. The scripts in this folder set these variables:
//
//   SHOAL_FAULTS_UNDER    the directory; calls elsewhere are not touched
//   SHOAL_FAULTS_JOURNAL  a file that gets one line per call (see record())
//   SHOAL_FAULTS_CONTENT  if set, the journal also contains the bytes that were written
//   SHOAL_FAULTS_AT       ROLE KIND PATH N ACTION, separated by tabs: the fault to inject into the
//                         N-th matching call (from 1) of a process. ROLE (`launcher` or `rankN`),
//                         KIND and PATH (relative to the directory) are patterns of fnmatch(3).
//                         ACTION is one of
//                           NUMBER    fail with this errno
//                           NUMBER+   fail with this errno, now and in all later calls of this
//                                     process that need space on the disk
//                           short     read or write half of the bytes
//                           hang      never return, like a network disk that is gone
//                           kill      kill this process instead of making the call
//                           killall   kill the first process of the job, then this one
//
// Kinds: open, list (an entry of a folder), read, write, fsync, rename, unlink, close, flock,
// mkdir, truncate.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace shoal::faults {

struct Call {
  std::string kind;
  std::string path = {};  // relative to the directory
  int descriptor = -1;    // -1: none, or the call returns it
  // Depends on the kind of call:
  //   open         the flags
  //   read, write  the offset, or -1 for the current position
  //   truncate     the new length
  //   fsync        1 for syncfs()
  int64_t place = 0;
  std::string from = {};        // old path of rename
  const void* bytes = nullptr;  // the bytes to write
  size_t size = 0;              // of a read or write
};

class Faults {
 public:
  // Returns the only instance. It is never destroyed, because exiting programs still close files.
  static Faults& instance();

  // Returns the path relative to the directory, or nothing if it is elsewhere. `folder`: as in
  // openat(2).
  std::optional<std::string> below(int folder, const char* path) const;
  std::optional<std::string> path_of(int descriptor);

  // Makes the call with real(size), or injects a fault instead. Thread-safe. Calls are serialized
  // and recorded under one lock, so the journal has their order. Returns the result and sets errno.
  int64_t perform(Call call, const std::function<int64_t(size_t)>& real);

 private:
  struct Trigger {
    std::string role, kind, path, action;
    int64_t number = 0;  // N of SHOAL_FAULTS_AT; 0: no fault
  };

  Faults();
  std::string due(const Call& call);  // the action for this call; empty: none
  void record(const Call& call, int64_t result, const std::string& error) const;
  [[noreturn]] static void die(bool with_first_process);

  const std::string under_;
  std::string role_;
  Trigger trigger_;
  int64_t seen_ = 0;   // calls that match the trigger
  bool full_ = false;  // whether calls that need space fail
  int journal_ = -1;
  bool content_ = false;
  std::mutex mutex_;
  std::map<int, std::string> open_;  // descriptors of files below the directory, and their paths
};

}  // namespace shoal::faults
