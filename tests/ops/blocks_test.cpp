// Tests that kernels of blocks, compiled as loops, show the mistakes that would be races on a GPU.

#include "ops/cuda/blocks.cuh"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "ops/cuda/table.h"

namespace shoal::ops::cuda_kernels {
namespace {

struct Shared {
  double values[kBlockThreads];
};

constexpr double kSum = kBlockThreads * (kBlockThreads - 1) / 2.0;  // 0 + 1 + … + 255

// Calls kernel(block, shared) 20 times. Returns how many times shared.values[0] is not `want`.
template <class Kernel>
int wrong(double want, const Kernel& kernel) {
  int count = 0;
  for (int i = 0; i < 20; ++i)
    for_each_block<Shared>(1, nullptr, [&](const Block& block, Shared& shared) {
      kernel(block, shared);
      count += shared.values[0] != want;
    });
  return count;
}

void number(const Block& block, Shared& shared) {
  block.each([&](int thread) { shared.values[thread] = thread; });
}

}  // namespace

TEST_CASE("a tree adds up all lanes, also if their number is odd") {
  for (const int width : {1, 2, 28, 32}) {
    const int lanes = kBlockThreads / width;
    for_each_block<Shared>(3, nullptr, [&](const Block& block, Shared& shared) {
      number(block, shared);
      fold(block, lanes, width,
           [&](int to, int from) { shared.values[to] += shared.values[from]; });
      for (int i = 0; i < width; ++i)
        CHECK(shared.values[i] == i * lanes + width * lanes * (lanes - 1) / 2.0);
    });
  }
}

TEST_CASE("a thread that uses what another writes in the same step gives wrong results") {
  const auto add = [](Shared& shared, int half) {
    return [&shared, half](int thread) {
      if (thread < half) shared.values[thread] += shared.values[thread + half];
    };
  };
  CHECK(wrong(kSum, [&](const Block& block, Shared& shared) {
          number(block, shared);
          for (int half = kBlockThreads / 2; half > 0; half /= 2) block.each(add(shared, half));
        }) == 0);
  CHECK(wrong(kSum, [&](const Block& block, Shared& shared) {
          number(block, shared);
          block.each([&](int thread) {  // one step for the whole tree
            for (int half = kBlockThreads / 2; half > 0; half /= 2) add(shared, half)(thread);
          });
        }) > 0);
  CHECK(wrong(255, [&](const Block& block, Shared& shared) {
          block.each([&](int thread) { shared.values[0] = thread; });
        }) > 0);
}

TEST_CASE("shared memory that nobody has written is not a number") {
  CHECK(wrong(kSum, [&](const Block& block, Shared& shared) {
          block.each([&](int thread) {
            if (thread != 7) shared.values[thread] = thread;
          });
          fold(block, kBlockThreads, 1,
               [&](int to, int from) { shared.values[to] += shared.values[from]; });
        }) == 20);
}

TEST_CASE("the last block sees what all blocks have written, and the counter can be used again") {
  constexpr int64_t kBlocks = 37;
  std::vector<double> parts(kBlocks);
  for (int round = 0; round < 3; ++round) {
    std::fill(parts.begin(), parts.end(), NAN);
    double sum = 0;
    int last = 0;
    for_each_block<Shared>(kBlocks, nullptr, [&](const Block& block, Shared&) {
      block.each([&](int thread) {
        if (thread == 0) parts[static_cast<size_t>(block.index())] = 1;
      });
      if (!block.last_of(arrivals(), kBlocks)) return;
      ++last;
      for (const double part : parts) sum += part;
    });
    CHECK(last == 1);
    CHECK(sum == kBlocks);
  }
}

}  // namespace shoal::ops::cuda_kernels
