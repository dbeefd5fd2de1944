#include "data/loader/loader_profile.h"

#include <algorithm>
#include <cmath>

#include "base/format/counted.h"
#include "base/now.h"
#include "base/text.h"
#include "data/loader/loader.h"

namespace shoal::data {
namespace {

// The loader is disk-bound if reading takes more than kReadShare of the threads' busy time and the
// threads use a CPU for less than kComputing of the busy time. (If they use more CPU time, reading
// is only copying from the page cache.)
constexpr double kReadShare = 0.5, kComputing = 0.75;
// The consumer limits the rate if the threads spend more than this share of their time waiting for
// a free row of a batch (ring.h).
constexpr double kWaitShare = 0.5;
// The disk is saturated if doubling the threads multiplies the throughput by less than this factor.
constexpr double kWorthwhile = 1.2;
constexpr int kMaxThreads = 256;

LoaderRate measure(const std::shared_ptr<const Dataset>& dataset, LoaderOptions options,
                   int threads, double seconds, const std::function<bool()>& stopped,
                   const std::function<void(const std::string&)>& warning) {
  const double made = now();
  options.threads = threads;
  options.profile = true;
  Loader loader(dataset, options, warning);
  int64_t epoch = 0;
  loader.start_epoch(epoch);
  LoaderRate rate;
  rate.threads = threads;
  loader.next();
  rate.first_batch_seconds = now() - made;
  // The rate counts the images that the threads finish, because whole batches arrive in bursts.
  const StageTimes before = loader.stage_times();
  const double start = now();
  do {
    if (stopped && stopped()) throw ProfileStopped();
    if (!loader.next()) loader.start_epoch(++epoch);
  } while (now() - start < seconds || (loader.stage_times() - before).images == 0);
  rate.stages = loader.stage_times() - before;
  rate.seconds = now() - start;
  rate.images_per_second = static_cast<double>(rate.stages.images) / rate.seconds;
  return rate;
}

bool computes(const LoaderRate& rate) {
  return rate.stages.cpu_seconds >= kComputing * rate.stages.busy_seconds();
}

bool reads_most(const LoaderRate& rate) {
  return rate.stages.of(Stage::read) > kReadShare * rate.stages.busy_seconds() && !computes(rate);
}

double wait_share(const LoaderRate& rate) {
  const double wait = rate.stages.of(Stage::wait);
  return wait / (wait + rate.stages.busy_seconds());
}

Bound bound_of(const LoaderRate& rate) {
  if (wait_share(rate) > kWaitShare) return Bound::batches;
  return reads_most(rate) ? Bound::disk : Bound::processors;
}

// Returns the end of Advice::sentence: how many threads `wanted` images/s need.
std::string needed(double wanted, int threads) {
  return strf(". %.0f images/s need %s here", wanted, counted(threads, "thread").c_str());
}

// Returns the smallest number of threads whose rate is at least `wanted`, interpolated linearly
// between the measurements. Returns 0 if no measured rate reaches `wanted`.
int threads_between(const std::vector<LoaderRate>& rates, double wanted) {
  double threads = 0, rate = 0;
  for (const LoaderRate& r : rates) {
    if (r.images_per_second >= wanted) {
      const double share = (wanted - rate) / (r.images_per_second - rate);
      return std::max(1, static_cast<int>(std::ceil(threads + share * (r.threads - threads))));
    }
    threads = r.threads, rate = r.images_per_second;
  }
  return 0;
}

// Whether the disk is saturated: the last increase in threads gained too little (kWorthwhile).
bool exhausted(const std::vector<LoaderRate>& rates) {
  if (rates.size() < 2) return false;
  const LoaderRate &last = rates.back(), &before = rates[rates.size() - 2];
  const double more = static_cast<double>(last.threads) / before.threads;
  const double gain = last.images_per_second / before.images_per_second;
  return gain < 1 + (kWorthwhile - 1) * (more - 1);
}

void advise_disk(const std::vector<LoaderRate>& rates, double wanted, Advice& advice) {
  const LoaderRate& last = rates.back();
  const double megabyte = 1e6, bytes = last.bytes_per_image();
  advice.sentence = strf(
      "disk-bound: reading takes %.0f %% of the threads' working time, %.1f MB/s at %d threads",
      100 * last.stages.of(Stage::read) / last.stages.busy_seconds(),
      last.bytes_per_second() / megabyte, last.threads);
  const bool limit = exhausted(rates);
  if (limit) {
    advice.sentence +=
        "; more threads do not help; use smaller images (`shoal pack --max-side`), a faster disk "
        "or more memory for the page cache";
  } else if (rates.size() < 2) {
    advice.sentence += "; measure with several numbers of threads to see whether more of them help";
  } else {
    advice.sentence += "; more threads help, because they keep more reads in flight";
  }
  if (wanted <= 0) return;
  if (advice.threads == 0 && !limit && rates.size() > 1) {
    const double per_thread = last.images_per_second / last.threads;
    const int threads = static_cast<int>(std::ceil(wanted / per_thread));
    if (threads <= kMaxThreads) advice.threads = threads;
  }
  if (advice.threads > 0)
    advice.sentence += needed(wanted, advice.threads);
  else
    advice.sentence += strf(". %.0f images/s need %.1f MB/s", wanted, wanted * bytes / megabyte);
}

void advise_batches(const std::vector<LoaderRate>& rates, double wanted, Advice& advice) {
  const LoaderRate& last = rates.back();
  advice.sentence = strf(
      "limited by the thread that takes the batches: %s for a free row %.0f %% of the time, so "
      "more of them do not help",
      last.threads == 1 ? "the loader's thread waits"
                        : strf("the %d threads of the loader wait", last.threads).c_str(),
      100 * wait_share(last));
  if (wanted <= 0) return;
  advice.sentence += advice.threads > 0
                         ? needed(wanted, advice.threads)
                         : strf(". %.0f images/s need more processes, each with a loader", wanted);
}

void advise_processors(const std::vector<LoaderRate>& rates, int processors, double wanted,
                       bool can_be_fast, Advice& advice) {
  const LoaderRate& last = rates.back();
  const double most = processors / last.cpu_seconds_per_image();
  advice.sentence =
      strf("CPU-bound: an image takes %.3f ms of a core", 1e3 * last.cpu_seconds_per_image());
  // Time of all threads together, except for reading. If they used a CPU for much less time than
  // this, something kept them from computing.
  const double own =
      last.stages.busy_seconds() + last.stages.of(Stage::wait) - last.stages.of(Stage::read);
  if (last.threads <= processors && last.stages.cpu_seconds < kComputing * own)
    advice.sentence += strf(
        ", but apart from reading, the threads ran only %.0f %% of the time: other programs or a "
        "quota take the cores, or the batches are taken too slowly; measure again on an idle "
        "machine",
        100 * last.stages.cpu_seconds / own);
  else
    advice.sentence +=
        strf("; %s can load about %.0f images/s", counted(processors, "core").c_str(),
             std::max(most, last.threads >= processors ? last.images_per_second : 0));
  if (wanted <= 0) return;
  if (advice.threads == 0 && last.threads < processors) {
    const int threads = static_cast<int>(std::ceil(wanted * last.cpu_seconds_per_image()));
    if (threads <= processors) advice.threads = threads;
  }
  if (advice.threads > 0) {
    advice.sentence += needed(wanted, advice.threads);
  } else {
    advice.sentence += strf(
        ". %.0f images/s need %s like these, or fewer with smaller images (`shoal pack "
        "--max-side`)",
        wanted,
        counted(static_cast<int64_t>(std::ceil(wanted * last.cpu_seconds_per_image())), "core")
            .c_str());
    if (can_be_fast) advice.sentence += " or `shoal train --resize fast`";
  }
}

}  // namespace

std::vector<LoaderRate> profile_loader(const std::shared_ptr<const Dataset>& dataset,
                                       const ProfileOptions& options,
                                       const std::function<void(int threads)>& progress,
                                       const std::function<void(const std::string&)>& warning) {
  // Each measurement uses a different order. Otherwise the next measurement would find its first
  // images in the page cache, even if the dataset does not fit into memory.
  LoaderOptions loader = options.loader;
  const auto run = [&](int threads) {
    ++loader.seed;
    return measure(dataset, loader, threads, options.seconds, options.stopped, warning);
  };
  progress(0);
  run(options.threads.empty() ? options.processors : options.threads.back());
  std::vector<LoaderRate> rates;
  const auto next = [&](int threads) {
    progress(threads);
    rates.push_back(run(threads));
  };
  for (const int threads : options.threads) next(threads);
  if (!options.threads.empty()) return rates;
  for (int threads = 1; threads < options.processors; threads *= 2) next(threads);
  next(options.processors);
  while (bound_of(rates.back()) == Bound::disk && rates.back().threads * 2 <= kMaxThreads &&
         !exhausted(rates))
    next(rates.back().threads * 2);
  return rates;
}

Advice advise(const std::vector<LoaderRate>& rates, int processors, double wanted,
              bool can_be_fast) {
  Advice advice;
  advice.bound = bound_of(rates.back());
  if (wanted > 0) advice.threads = threads_between(rates, wanted);
  if (advice.bound == Bound::disk)
    advise_disk(rates, wanted, advice);
  else if (advice.bound == Bound::batches)
    advise_batches(rates, wanted, advice);
  else
    advise_processors(rates, processors, wanted, can_be_fast, advice);
  return advice;
}

}  // namespace shoal::data
