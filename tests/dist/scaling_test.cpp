#include "dist/scaling.h"

#include <catch2/catch.hpp>

using namespace shoal::dist;

namespace {

// 1 s forward, 2 s backward, 0.5 s update; 3 MB of gradients in two ranges.
StepTimeline example() {
  StepTimeline step;
  step.before_backward = 1, step.backward = 2, step.after_backward = 0.5;
  step.ranges = {{0.5, 2'000'000}, {2, 1'000'000}};
  return step;
}

Cluster cluster_of(int64_t count, double bytes_per_second, int64_t processes = 1) {
  Cluster cluster;
  cluster.hosts = count, cluster.processes_per_host = processes;
  cluster.between_hosts.bytes_per_second = bytes_per_second;
  cluster.within_host.bytes_per_second = 100 * bytes_per_second;
  return cluster;
}

}  // namespace

TEST_CASE("one process exchanges nothing") {
  const ScaledStep step = predict_step(example(), cluster_of(1, 1));
  CHECK(step.seconds == 3.5);
  CHECK(step.exchange == 0);
}

TEST_CASE("a ring of two hosts sends each gradient once, while backward computes") {
  // The exchange of the first range lasts from 0.5 s to 2.5 s after the start of backward. That of
  // the second range takes 1 s more.
  const ScaledStep slow = predict_step(example(), cluster_of(2, 1e6));
  CHECK(slow.exchange == Approx(3));
  CHECK(slow.seconds == Approx(1 + 3.5 + 0.5));
  // On a fast link, only the exchange of the last range makes the step longer.
  CHECK(predict_step(example(), cluster_of(2, 1e9)).seconds == Approx(3.5 + 0.001));
  // Each of four hosts sends 2 * 3/4 of the bytes. There are four all-reduces of 6 rounds each: of
  // the two ranges, the statistics and the metrics.
  Cluster four = cluster_of(4, 1e6);
  four.between_hosts.latency_seconds = 0.01;
  CHECK(predict_step(example(), four).exchange == Approx(4.5 + 4 * 6 * 0.01));
  four.trees = true;
  CHECK(predict_step(example(), four).exchange == Approx(4.5 + 4 * 4 * 0.01));
}

TEST_CASE("the slowest link limits a ring") {
  Cluster cluster = cluster_of(2, 1e6, 2);
  CHECK(predict_step(example(), cluster).exchange == Approx(3 * 1.5));
  cluster.within_host.bytes_per_second = 1e5;
  CHECK(predict_step(example(), cluster).exchange == Approx(30 * 1.5));
  cluster.hosts = 1;
  CHECK(predict_step(example(), cluster).exchange == Approx(30));
}

TEST_CASE("statistics follow the gradients, and the exchange takes processor time") {
  StepTimeline step = example();
  step.bytes_after_backward = 100'000;
  CHECK(predict_step(step, cluster_of(2, 1e6)).seconds == Approx(1 + 3.5 + 0.1 + 0.5));
  Cluster cluster = cluster_of(2, 1e12);
  cluster.cpu_seconds_per_byte = 1e-7;  // 3.1 MB are sent, and 3.1 MB received
  CHECK(predict_step(step, cluster).seconds == Approx(3.5 + 0.62));
}

TEST_CASE("with bfloat16, backward waits for the copies of a range") {
  StepTimeline step;  // three ranges, complete at 1, 2 and 3 s of a backward of 4 s
  step.backward = 4;
  step.ranges = {{1, 4'000'000}, {2, 4'000'000}, {3, 4'000'000}};
  Cluster two = cluster_of(2, 1e6);  // each transfer takes 1 s
  two.bf16 = true;
  // The bfloat16 copies of the three ranges have arrived at 2, 3 and 4 s. Their means follow, and
  // have arrived at 5, 6 and 7 s.
  CHECK(predict_step(step, two).seconds == Approx(7));
  // Each transfer takes 4 s. At 3 s, backward waits until 5 s for the copies of the first range.
  two.between_hosts.bytes_per_second = 0.25e6;
  CHECK(predict_step(step, two).seconds == Approx(25));
  step.backward = 40;  // with the wait of 2 s, backward ends at 42 s; then two means take 4 s each
  CHECK(predict_step(step, two).seconds == Approx(42 + 8));
}

TEST_CASE("bfloat16 halves the bytes of two hosts, but not of hosts with many processes") {
  Cluster two = cluster_of(2, 1e6);
  two.bf16 = true;
  CHECK(predict_step(example(), two).exchange == Approx(1.5));
  Cluster many = cluster_of(2, 1e6, 8);
  const double ring = predict_step(example(), many).exchange;
  CHECK(ring == Approx(3 * 30.0 / 16));
  many.bf16 = true;
  CHECK(predict_step(example(), many).exchange == Approx(3 * 8 * 8 / 16.0));
}
