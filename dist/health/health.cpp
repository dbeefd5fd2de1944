#include "dist/health/health.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include <chrono>
#include <stdexcept>

#include "base/hash.h"
#include "base/now.h"
#include "dist/gather.h"
#include "dist/group_state.h"

namespace shoal::dist {
namespace {

constexpr int64_t kQuickBytes = 2 << 20, kFullFactor = 16;
constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(20);
// Every link is measured kTries times. If slow links are the only fault, hosts may have been busy
// for a moment, so all links are measured up to kMoreTries more times. They are not measured again
// if the slowest link needs kLongTry or more per measurement.
constexpr int kTries = 3, kMoreTries = 5;
constexpr double kLongTry = 0.5;  // seconds

at::Tensor pattern(int64_t count, uint64_t seed) {
  at::Tensor tensor = at::empty({count}, at::kLong);
  auto* values = tensor.mutable_data_ptr<int64_t>();
  for (int64_t i = 0; i < count; ++i)
    values[i] = static_cast<int64_t>(mix_bits(seed + static_cast<uint64_t>(i)) >> 20);
  return tensor;
}

// Runs a calculation that exercises memory and integer multiplication. Every intact processor gets
// the same result.
uint64_t calculate(int64_t count) {
  std::vector<uint64_t> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = mix_bits(i);
  uint64_t sum = 0;
  for (size_t step = 0; step < 4; ++step)
    for (size_t i = 0; i < values.size(); ++i)
      sum += values[i] = mix_bits(values[i] ^ values[(i * 8191 + step) % values.size()]);
  return sum;
}

// Measures the links between neighboring hosts, using the first rank of each host.
class Links {
 public:
  Links(const Communicator& communicator, int64_t bytes,
        const std::function<void(at::Tensor&)>& received)
      : state_(communicator.control.state()),
        env_(communicator.env),
        each_(std::max(1, env_.local_world_size)),
        hosts_(env_.world_size / each_),
        host_(env_.rank / each_),
        count_(bytes / 8),
        received_(received) {}

  // Measures disjoint pairs of neighbors at the same time, so that each host uses only one link at
  // a time: 0-1, 2-3, ...; then 1-2, 3-4, ...; then the link from the last host to the first. Keeps
  // the highest rate of all tries, because a host may be busy for a moment.
  void measure(HealthSample& sample, int tries) {
    if (hosts_ < 2 || env_.local_rank != 0) return;
    for (int i = 0; i < tries; ++i) try_once(sample);
  }

 private:
  void try_once(HealthSample& sample) {
    for (const int turn : {0, 1}) {
      if (host_ % 2 == turn && host_ + 1 < hosts_) towards_next(sample);
      if (host_ % 2 != turn && host_ > 0) towards_previous(sample);
    }
    if (hosts_ < 3) return;
    if (host_ == hosts_ - 1) towards_next(sample);
    if (host_ == 0) towards_previous(sample);
  }
  void towards_next(HealthSample& sample) {
    const int other = (host_ + 1) % hosts_ * each_;
    send(other);
    sample.damaged_next |= !receive(other, sample.bytes_per_second_next);
  }
  void towards_previous(HealthSample& sample) {
    const int other = (host_ + hosts_ - 1) % hosts_ * each_;
    sample.damaged_previous |= !receive(other, sample.bytes_per_second_previous);
    send(other);
  }

  void wait_for(const std::string& operation,
                const std::function<c10::intrusive_ptr<c10d::Work>()>& start) {
    guarded(*state_, operation, [&] { start()->wait(kPatience); });
  }

  // Sends a short message first, so that the clock starts when both sides are ready.
  void send(int other) {
    const std::string what = "health check: sending to rank " + rank_with_host(other, env_);
    std::vector<at::Tensor> ready = {pattern(1, 0)},
                            data = {pattern(count_, static_cast<uint64_t>(env_.rank))};
    wait_for(what, [&] { return state_->gloo->send(ready, other, kReady); });
    wait_for(what, [&] { return state_->gloo->send(data, other, kData); });
  }
  bool receive(int other, double& bytes_per_second) {
    const std::string what = "health check: receiving from rank " + rank_with_host(other, env_);
    std::vector<at::Tensor> ready = {at::empty({1}, at::kLong)},
                            data = {at::empty({count_}, at::kLong)};
    wait_for(what, [&] { return state_->gloo->recv(ready, other, kReady); });
    const double start = now();
    wait_for(what, [&] { return state_->gloo->recv(data, other, kData); });
    const double seconds = now() - start;
    bytes_per_second =
        std::max(bytes_per_second, 8.0 * static_cast<double>(count_) / std::max(seconds, 1e-9));
    if (received_) received_(data[0]);
    return at::equal(data[0], pattern(count_, static_cast<uint64_t>(other)));
  }

  static constexpr int kReady = 1, kData = 2;  // message tags

  std::shared_ptr<GroupState> state_;
  const Env& env_;
  int each_, hosts_, host_;
  int64_t count_;
  const std::function<void(at::Tensor&)>& received_;
};

bool sums_correctly(const Group& group, int64_t count) {
  at::Tensor sum = pattern(count, 0) * (group.rank() + 1);
  group.all_reduce_sum(sum);
  const int64_t all = static_cast<int64_t>(group.size()) * (group.size() + 1) / 2;
  return at::equal(sum, pattern(count, 0) * all);
}

// Returns the lowest rate of the measured links in bytes per second; 0 if none was measured.
double slowest(const std::vector<HealthSample>& samples) {
  double least = 0;
  for (const HealthSample& sample : samples)
    for (const double rate : {sample.bytes_per_second_next, sample.bytes_per_second_previous})
      if (rate > 0 && (least == 0 || rate < least)) least = rate;
  return least;
}

}  // namespace

HealthReport check_health(const Communicator& communicator, HealthCheck level,
                          const std::function<void(at::Tensor&)>& received) {
  HealthReport report;
  if (level == HealthCheck::off || communicator.size() == 1) return report;
  const int64_t bytes = kQuickBytes * (level == HealthCheck::full ? kFullFactor : 1);
  HealthSample mine;
  mine.arithmetic = calculate(bytes / 8);
  Links links(communicator, bytes, received);
  links.measure(mine, kTries);
  mine.sum_is_right = sums_correctly(communicator.control, bytes / 8);
  auto samples = gather_values<HealthSample>(communicator.control, {mine});
  for (int i = 0; i < kMoreTries && is_only_slow(samples, communicator.env) &&
                  static_cast<double>(bytes) < kLongTry * slowest(samples);
       ++i) {
    links.measure(mine, 1);
    samples = gather_values<HealthSample>(communicator.control, {mine});
  }
  if (const auto bad = find_fault(samples, communicator.env))
    throw std::runtime_error(*bad +
                             "; exclude or replace it, then continue with --resume "
                             "(--health-check off skips this test)");
  report.slowest_bytes_per_second = slowest(samples);
  return report;
}

}  // namespace shoal::dist
