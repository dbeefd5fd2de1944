#include "data/mix.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "data/random.h"

namespace shoal::data {
namespace {

void draw_pair(const MixOptions& options, const MixRequest& r, Row& row) {
  KeyedRandom random(make_key(Purpose::pair, r.seed, static_cast<uint64_t>(r.epoch),
                              static_cast<uint64_t>(r.position / 2)));
  const bool both = options.mixup > 0 && options.cutmix > 0;
  const bool blend = both ? random.uniform() < 0.5 : options.mixup > 0;
  const double lambda = random.beta(blend ? options.mixup : options.cutmix);
  row.partner = r.index ^ 1;
  row.blend = blend;
  row.lambda = static_cast<float>(lambda);
  if (blend) return;
  const auto x = static_cast<int64_t>(random.below(static_cast<uint64_t>(r.width)));
  const auto y = static_cast<int64_t>(random.below(static_cast<uint64_t>(r.height)));
  const double half = 0.5 * std::sqrt(1 - lambda);
  const auto half_width = static_cast<int64_t>(half * static_cast<double>(r.width));
  const auto half_height = static_cast<int64_t>(half * static_cast<double>(r.height));
  row.box[0] = static_cast<int32_t>(std::max<int64_t>(x - half_width, 0));
  row.box[1] = static_cast<int32_t>(std::max<int64_t>(y - half_height, 0));
  row.box[2] = static_cast<int32_t>(std::min(x + half_width, r.width));
  row.box[3] = static_cast<int32_t>(std::min(y + half_height, r.height));
  const int64_t area = int64_t{row.box[2] - row.box[0]} * (row.box[3] - row.box[1]);
  row.lambda =
      static_cast<float>(1 - static_cast<double>(area) / static_cast<double>(r.width * r.height));
}

void draw_erasing(const MixOptions& options, const MixRequest& r, Row& row) {
  KeyedRandom random(combine(r.key, static_cast<uint64_t>(Purpose::erase)));
  if (random.uniform() >= options.erase) return;
  const auto area = static_cast<double>(r.width * r.height);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * random.uniform(0.02, 1.0 / 3);
    const double ratio = std::exp(random.uniform(std::log(0.3), std::log(3.3)));
    const auto height = static_cast<int64_t>(std::nearbyint(std::sqrt(target * ratio)));
    const auto width = static_cast<int64_t>(std::nearbyint(std::sqrt(target / ratio)));
    if (height < 1 || width < 1 || height >= r.height || width >= r.width) continue;
    const auto top = random.below(static_cast<uint64_t>(r.height - height + 1));
    const auto left = random.below(static_cast<uint64_t>(r.width - width + 1));
    row.erase[0] = static_cast<int32_t>(left);
    row.erase[1] = static_cast<int32_t>(top);
    row.erase[2] = static_cast<int32_t>(static_cast<int64_t>(left) + width);
    row.erase[3] = static_cast<int32_t>(static_cast<int64_t>(top) + height);
    return;
  }
}

}  // namespace

void mix_row(const MixOptions& options, const MixRequest& request, Row& row) {
  row.partner = request.index;
  row.lambda = 1;
  row.blend = false;
  std::fill(std::begin(row.box), std::end(row.box), 0);
  std::fill(std::begin(row.erase), std::end(row.erase), 0);
  if (pairs_rows(options)) draw_pair(options, request, row);
  if (options.erase > 0) draw_erasing(options, request, row);
}

void check_mix(const MixOptions& options) {
  const auto require = [](bool good, const char* message) {
    if (!good) throw std::invalid_argument(message);
  };
  require(std::isfinite(options.mixup) && options.mixup >= 0,
          "mixup must be 0 (off) or a positive number");
  require(std::isfinite(options.cutmix) && options.cutmix >= 0,
          "cutmix must be 0 (off) or a positive number");
  require(options.erase >= 0 && options.erase <= 1,
          "the probability of erasing must be between 0 and 1");
}

}  // namespace shoal::data
