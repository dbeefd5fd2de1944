#pragma once
// A parallel for loop.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace shoal {

// Calls work(i) for every i from 0 to count - 1, in any order. Uses up to `threads` threads (at
// least 1, at most 256), including the calling thread. After an exception, starts no further calls
// and waits for all threads. Then rethrows the exception of the lowest `i` that failed. Because
// calls start in the order of `i`, this exception does not depend on the threads.
template <class Work>
void for_each_index(size_t count, int threads, const Work& work) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr error;
  size_t failed = count;  // the `i` whose call threw `error`
  const auto run = [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i < failed) error = std::current_exception(), failed = i;
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> pool;
    const size_t most = std::min<size_t>(count, static_cast<size_t>(std::clamp(threads, 1, 256)));
    for (size_t i = 1; i < most; ++i) pool.emplace_back(run);
    run();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace shoal
