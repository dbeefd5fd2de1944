#include "dist/health/health_verdict.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/median.h"
#include "base/text.h"

namespace shoal::dist {
namespace {

// A link counts as slow below this fraction of the median rate of all links, because it then slows
// down all ranks.
constexpr double kShareOfMedian = 0.25;
// Bytes per second. Below this rate, a link counts as slow even if all others are slow too: a
// gradient of 20 MB would take more than two seconds.
constexpr double kLeast = 10e6;

class HostLinks {
 public:
  HostLinks(const std::vector<HealthSample>& samples, const Env& env)
      : samples_(samples), env_(env), each_(std::max(1, env.local_world_size)) {
    count_ = static_cast<int>(samples.size()) / each_;
  }
  int count() const { return count_; }
  int links() const { return count_ < 2 ? 0 : count_ == 2 ? 1 : count_; }
  std::string name(int host) const {
    const auto i = static_cast<size_t>(host);
    return i < env_.hosts.size() ? "host " + env_.hosts[i]
                                 : "the host of rank " + std::to_string(host * each_);
  }
  int after(int host) const { return (host + 1) % count_; }
  // The rate of the link between a host and the next one: the slower of the two ends' measurements.
  double rate(int host) const {
    return std::min(of(host).bytes_per_second_next, of(after(host)).bytes_per_second_previous);
  }
  bool damaged(int host) const { return of(host).damaged_next || of(after(host)).damaged_previous; }

 private:
  const HealthSample& of(int host) const { return samples_[static_cast<size_t>(host * each_)]; }

  const std::vector<HealthSample>& samples_;
  const Env& env_;
  int each_, count_ = 0;
};

// Returns the names of the hosts whose two links are both bad. If there are none, names both ends
// of each bad link.
std::string blame(const HostLinks& hosts, const std::vector<bool>& bad) {
  std::vector<std::string> named;
  const int links = hosts.links();
  if (links >= 3)
    for (int host = 0; host < hosts.count(); ++host) {
      const int before = (host + links - 1) % links;
      if (bad[static_cast<size_t>(host)] && bad[static_cast<size_t>(before)])
        named.push_back(hosts.name(host));
    }
  if (!named.empty()) return joined(named);
  for (int host = 0; host < links; ++host)
    if (bad[static_cast<size_t>(host)])
      named.push_back("between " + hosts.name(host) + " and " + hosts.name(hosts.after(host)));
  return joined(named);
}

std::optional<std::string> judge_links(const HostLinks& hosts) {
  std::vector<double> rates;
  std::vector<bool> damaged, slow;
  for (int host = 0; host < hosts.links(); ++host) {
    rates.push_back(hosts.rate(host));
    damaged.push_back(hosts.damaged(host));
  }
  if (rates.empty()) return std::nullopt;
  if (std::find(damaged.begin(), damaged.end(), true) != damaged.end())
    return "the network corrupts data: " + blame(hosts, damaged);
  const double usual = median(rates);
  for (const double rate : rates) slow.push_back(rate < kLeast || rate < kShareOfMedian * usual);
  if (std::find(slow.begin(), slow.end(), true) == slow.end()) return std::nullopt;
  char text[96];
  std::snprintf(text, sizeof text, " (%.1f MB/s; the median of all links is %.1f MB/s)",
                *std::min_element(rates.begin(), rates.end()) / 1e6, usual / 1e6);
  return "the network is slow: " + blame(hosts, slow) + text;
}

std::optional<std::string> judge_arithmetic(const std::vector<HealthSample>& samples,
                                            const Env& env) {
  std::map<uint64_t, int> results;
  for (const HealthSample& sample : samples) ++results[sample.arithmetic];
  if (results.size() == 1) return std::nullopt;
  const auto usual =
      std::max_element(results.begin(), results.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<std::string> odd;
  for (size_t rank = 0; rank < samples.size(); ++rank)
    if (samples[rank].arithmetic != usual->first ||
        2 * usual->second <= static_cast<int>(samples.size()))
      odd.push_back("rank " + rank_with_host(static_cast<int>(rank), env));
  return "ranks compute different results from the same numbers: " + joined(odd);
}

}  // namespace

std::optional<std::string> find_fault(const std::vector<HealthSample>& samples, const Env& env) {
  if (const auto bad = judge_arithmetic(samples, env)) return bad;
  if (const auto bad = judge_links(HostLinks(samples, env))) return bad;
  std::vector<std::string> wrong;
  for (size_t rank = 0; rank < samples.size(); ++rank)
    if (!samples[rank].sum_is_right)
      wrong.push_back("rank " + rank_with_host(static_cast<int>(rank), env));
  if (wrong.empty()) return std::nullopt;
  return "the sum over all ranks is wrong on " + joined(wrong);
}

bool is_only_slow(std::vector<HealthSample> samples, const Env& env) {
  if (!find_fault(samples, env)) return false;
  for (HealthSample& sample : samples)
    sample.bytes_per_second_next = sample.bytes_per_second_previous = 1e12;
  return !find_fault(samples, env);
}

}  // namespace shoal::dist
