#include "dist/health/health_verdict.h"

#include <catch2/catch.hpp>

using namespace shoal::dist;
using Catch::Contains;

namespace {

Env hosts(int count, int each = 1) {
  Env env;
  env.world_size = count * each;
  env.local_world_size = each;
  for (int i = 1; i <= count; ++i) env.hosts.push_back("algo-" + std::to_string(i));
  return env;
}

std::vector<HealthSample> healthy(int ranks) {
  HealthSample sample;
  sample.bytes_per_second_next = sample.bytes_per_second_previous = 1e9;
  sample.arithmetic = 42;
  return std::vector<HealthSample>(static_cast<size_t>(ranks), sample);
}

}  // namespace

TEST_CASE("healthy hosts pass, and so does a single host") {
  for (const int count : {1, 2, 3, 5}) CHECK_FALSE(find_fault(healthy(count), hosts(count)));
  CHECK_FALSE(find_fault(healthy(8), hosts(2, 4)));
  std::vector<HealthSample> unmeasured(4);  // one host: there are no links
  CHECK_FALSE(find_fault(unmeasured, hosts(1, 4)));
}

TEST_CASE("a host whose links are all slow is named") {
  auto samples = healthy(5);
  samples[2].bytes_per_second_next = samples[2].bytes_per_second_previous = 2e8;
  const auto verdict = find_fault(samples, hosts(5));
  REQUIRE(verdict);
  CHECK_THAT(*verdict,
             (Contains("slow") && Contains("algo-3 (200.0 MB/s") && Contains("1000.0 MB/s")));
}

TEST_CASE("is_only_slow() is true for a slow link without any other fault") {
  auto samples = healthy(5);
  CHECK_FALSE(is_only_slow(samples, hosts(5)));
  samples[2].bytes_per_second_next = 2e8;
  CHECK(is_only_slow(samples, hosts(5)));
  samples[1].sum_is_right = false;
  CHECK_FALSE(is_only_slow(samples, hosts(5)));
  samples[1].sum_is_right = true;
  samples[4].damaged_next = true;
  CHECK_FALSE(is_only_slow(samples, hosts(5)));
}

TEST_CASE("one slow link is named by its two hosts") {
  auto samples = healthy(5);
  samples[4].bytes_per_second_next = 1e8;  // link to the first host
  CHECK_THAT(find_fault(samples, hosts(5)).value_or(""),
             Contains("between host algo-5 and host algo-1"));
  samples = healthy(2);
  samples[1].bytes_per_second_previous = 5e6;  // below the absolute limit
  CHECK_THAT(find_fault(samples, hosts(2)).value_or(""),
             (Contains("algo-1 and host algo-2") && Contains("5.0 MB/s")));
}

TEST_CASE("a host that corrupts data is named") {
  auto samples = healthy(6);  // three hosts of two ranks
  samples[0].damaged_next = samples[4].damaged_previous = true;
  CHECK_THAT(find_fault(samples, hosts(3, 2)).value_or(""), Contains("corrupts data: host algo-2"));
}

TEST_CASE("a rank with a different result is named; of two ranks, both are") {
  auto samples = healthy(3);
  samples[1].arithmetic = 43;
  CHECK_THAT(find_fault(samples, hosts(3)).value_or(""),
             Contains("rank 1 (algo-2)") && !Contains("rank 0"));
  samples = healthy(2);
  samples[1].arithmetic = 43;
  CHECK_THAT(find_fault(samples, hosts(2)).value_or(""),
             Contains("rank 0 (algo-1), rank 1 (algo-2)"));
}

TEST_CASE("a wrong sum names the ranks that received it") {
  auto samples = healthy(3);
  samples[2].sum_is_right = false;
  CHECK_THAT(find_fault(samples, hosts(3)).value_or(""), Contains("wrong on rank 2 (algo-3)"));
  CHECK_THAT(find_fault(samples, Env()).value_or(""), Contains("wrong on rank 2"));
}
