#include "data/loader/loader_profile.h"

#include <catch2/catch.hpp>

#include "data/loader/loader.h"
#include "tests/data/support.h"

using namespace shoal::data;
using Catch::Contains;

namespace {

// Returns a measurement of one second with `rate` images of 100 kB. For each image, a thread reads
// for read_ms and then decodes for decode_ms.
LoaderRate measured(int threads, double rate, double read_ms, double decode_ms) {
  LoaderRate r;
  r.threads = threads;
  r.seconds = 1;
  r.images_per_second = rate;
  r.stages.images = static_cast<int64_t>(rate);
  r.stages.bytes = 100'000 * r.stages.images;
  r.stages.seconds[static_cast<size_t>(Stage::read)] = 1e-3 * read_ms * rate;
  r.stages.seconds[static_cast<size_t>(Stage::entropy)] = 1e-3 * decode_ms * rate;
  r.stages.cpu_seconds = 1e-3 * decode_ms * rate;
  return r;
}

}  // namespace

TEST_CASE("a loader whose threads compute is CPU-bound") {
  const std::vector<LoaderRate> rates = {measured(1, 990, 0.01, 1), measured(2, 1980, 0.01, 1),
                                         measured(4, 3960, 0.01, 1)};
  const Advice enough = advise(rates, 8, 1500);
  CHECK(enough.bound == Bound::processors);
  CHECK(enough.threads == 2);
  CHECK_THAT(enough.sentence, Contains("CPU-bound") && Contains("1500 images/s need 2 threads"));
  CHECK(advise(rates, 8, 6500).threads == 7);  // more than were measured, but at most one per core
  const Advice too_many = advise(rates, 8, 20000);
  CHECK(too_many.threads == 0);
  CHECK_THAT(too_many.sentence, Contains("need 20 cores like these"));
  CHECK(advise(rates, 8, 0).threads == 0);
}

TEST_CASE("a measurement with one thread is enough to estimate the number needed") {
  const Advice advice = advise({measured(1, 990, 0.01, 1)}, 4, 2900);
  CHECK(advice.bound == Bound::processors);
  CHECK(advice.threads == 3);
}

TEST_CASE("when threads wait for reads, the advice is more threads than processors") {
  const std::vector<LoaderRate> rates = {measured(1, 100, 9, 1), measured(2, 200, 9, 1)};
  const Advice advice = advise(rates, 2, 800);
  CHECK(advice.bound == Bound::disk);
  CHECK(advice.threads == 8);
  CHECK_THAT(advice.sentence, Contains("disk-bound") && Contains("20.0 MB/s") &&
                                  Contains("more threads help") && Contains("need 8 threads"));
}

TEST_CASE("slow copies from the page cache count as CPU-bound") {
  LoaderRate rate = measured(1, 1000, 0.7, 0.3);
  rate.stages.cpu_seconds = 1;
  CHECK(advise({rate}, 2, 0).bound == Bound::processors);
  rate.stages.cpu_seconds = 0.35;
  CHECK(advise({rate}, 2, 0).bound == Bound::disk);
}

TEST_CASE("if threads neither read nor compute, the advice blames other programs") {
  LoaderRate rate = measured(2, 1000, 0.1, 0.9);
  rate.stages.cpu_seconds = 0.4;
  const Advice advice = advise({rate}, 2, 0);
  CHECK(advice.bound == Bound::processors);
  CHECK_THAT(advice.sentence, Contains("ran only 44 % of the time") && !Contains("can load"));
  // With one processor, the loader's own threads compete.
  CHECK_THAT(advise({rate}, 1, 0).sentence, !Contains("other programs"));
  CHECK_THAT(advise({measured(2, 1000, 0.45, 0.55)}, 2, 0).sentence, !Contains("other programs"));
}

TEST_CASE("a thread that got less than its core gives no estimate for all cores") {
  // On a busy host, the loader's thread gets less than its core. It also waits for free rows,
  // because the thread that takes the batches runs late.
  LoaderRate rate = measured(1, 12200, 0.002, 0.046);
  rate.stages.cpu_seconds = 0.46;
  rate.stages.seconds[static_cast<size_t>(Stage::wait)] = 0.418;
  const Advice advice = advise({rate}, 2, 0);
  CHECK(advice.bound == Bound::processors);
  CHECK_THAT(advice.sentence, Contains("idle machine") && !Contains("can load"));
  rate.stages.cpu_seconds = 0.9;
  CHECK_THAT(advise({rate}, 2, 0).sentence, Contains("2 cores can load about 27111 images/s"));
}

TEST_CASE("if the threads wait for free rows most of the time, the batches limit the rate") {
  LoaderRate rate = measured(2, 1000, 0.01, 0.1);
  rate.stages.seconds[static_cast<size_t>(Stage::wait)] = 1.72;
  const Advice advice = advise({rate}, 2, 0);
  CHECK(advice.bound == Bound::batches);
  CHECK_THAT(advice.sentence, Contains("2 threads") && Contains("94 % of the time") &&
                                  Contains("more of them do not help") && !Contains("CPU-bound"));
  CHECK_THAT(advise({rate}, 2, 500).sentence, Contains("need 1 thread here"));
  CHECK_THAT(advise({rate}, 2, 5000).sentence, Contains("more processes"));
  rate.stages.seconds[static_cast<size_t>(Stage::wait)] = 0.1;
  CHECK(advise({rate}, 2, 0).bound == Bound::processors);
}

TEST_CASE("one measurement of a slow disk does not show whether threads help") {
  const Advice advice = advise({measured(4, 200, 19, 1)}, 2, 400);
  CHECK(advice.bound == Bound::disk);
  CHECK(advice.threads == 0);
  CHECK_THAT(advice.sentence,
             Contains("measure with several numbers") && Contains("400 images/s need 40.0 MB/s"));
}

TEST_CASE("for a saturated disk the advice is less data") {
  const std::vector<LoaderRate> rates = {measured(2, 500, 3, 1), measured(4, 510, 6.8, 1)};
  const Advice advice = advise(rates, 8, 2000);
  CHECK(advice.bound == Bound::disk);
  CHECK(advice.threads == 0);
  CHECK_THAT(advice.sentence,
             Contains("more threads do not help") && Contains("2000 images/s need 200.0 MB/s"));
  CHECK(advise(rates, 8, 250).threads == 1);
}

TEST_CASE("a profile counts every image and byte once") {
  const Bytes image = made_jpeg(0);
  const auto dataset = std::make_shared<MemoryDataset>(std::vector<Bytes>(64, image));
  LoaderOptions options;
  options.batch_size = 16;
  options.threads = 2;
  options.transform.size = 32;
  options.profile = true;
  StageTimes times;
  {
    Loader loader(dataset, options);
    loader.start_epoch(0);
    while (loader.next()) {
    }
    times = loader.stage_times();
  }
  CHECK(times.images >= 64);  // images of the next epoch may be prefetched
  CHECK(times.bytes == times.images * static_cast<int64_t>(image.size()));
  CHECK(times.busy_seconds() > 0);
  CHECK(times.of(Stage::resize) > 0);
  CHECK(times.cpu_seconds > 0);

  options.profile = false;
  Loader silent(dataset, options);
  silent.start_epoch(0);
  while (silent.next()) {
  }
  CHECK(silent.stage_times().images == 0);
}

TEST_CASE("a profile measures each requested number of threads") {
  ProfileOptions options;
  options.loader.batch_size = 16;
  options.loader.transform.size = 32;
  options.threads = {1, 3};
  options.seconds = 0.01;
  std::vector<int> tried;
  const auto rates = profile_loader(
      open_dataset("synthetic:64:4:40x30"), options, [&](int threads) { tried.push_back(threads); },
      [](const std::string&) {});
  CHECK(tried == std::vector<int>{0, 1, 3});
  REQUIRE(rates.size() == 2);
  CHECK(rates[1].threads == 3);
  CHECK(rates[0].images_per_second > 0);
  CHECK(rates[0].first_batch_seconds > 0);
}
