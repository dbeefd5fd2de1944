// Runs a fuzz target without libFuzzer: first on each seed, whole and truncated at 200 places, then
// on mutations of the seeds for SECONDS.
//
//   fuzz_NAME SECONDS SEED_FILE...
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "data/random.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

void run(const Bytes& input) {
  // Copies the input into an allocation of exactly its size, so that a sanitizer detects any access
  // beyond it.
  const Bytes exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

Bytes mutated(const std::vector<Bytes>& seeds, shoal::data::KeyedRandom& random) {
  Bytes bytes = seeds[random.below(seeds.size())];
  const auto place = [&] { return bytes.empty() ? 0 : random.below(bytes.size()); };
  for (uint64_t changes = 1 + random.below(6); changes > 0 && !bytes.empty(); --changes) {
    const size_t at = place();
    switch (random.below(6)) {
      case 0:
        bytes[at] = static_cast<uint8_t>(random.next());
        break;
      case 1:
        bytes[at] ^= static_cast<uint8_t>(1u << random.below(8));
        break;
      case 2:
        bytes[at] = random.below(2) ? 0xff : 0;
        break;
      case 3:
        bytes.resize(at);
        break;
      case 4:
        bytes.insert(bytes.begin() + static_cast<int64_t>(at), 1 + random.below(4),
                     static_cast<uint8_t>(random.next()));
        break;
      default: {
        const Bytes& other = seeds[random.below(seeds.size())];
        if (other.empty()) break;
        const size_t from = random.below(other.size());
        const size_t count = std::min<size_t>({16, other.size() - from, bytes.size() - at});
        std::copy_n(other.begin() + static_cast<int64_t>(from), count,
                    bytes.begin() + static_cast<int64_t>(at));
      }
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s SECONDS SEED_FILE...\n", argv[0]);
    return 2;
  }
  const double seconds = std::atof(argv[1]);
  std::vector<Bytes> seeds;
  for (int i = 2; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  int64_t executions = 0;
  for (const Bytes& seed : seeds) {
    for (size_t cut = 0; cut <= 200; ++cut, ++executions)
      run(Bytes(seed.begin(), seed.begin() + static_cast<int64_t>(seed.size() * cut / 200)));
  }
  shoal::data::KeyedRandom random(1);
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds)
    for (int i = 0; i < 50; ++i, ++executions) run(mutated(seeds, random));
  std::printf("%ld executions\n", executions);
  return executions > 0 ? 0 : 1;
}
