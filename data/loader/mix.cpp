#include "data/loader/mix.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/error.h"
#include "data/random.h"

namespace shoal::data {
namespace {

// Returns the random sequence of this row. Rows that share a draw get the same sequence.
KeyedRandom draws_of(const MixOptions& options, const MixRequest& r) {
  const auto key = [&](Purpose purpose, int64_t index) {
    return KeyedRandom(
        make_key(purpose, r.seed, static_cast<uint64_t>(r.epoch), static_cast<uint64_t>(index)));
  };
  if (options.mode == MixMode::batch)
    return key(Purpose::mix_per_step, r.position / std::max<int64_t>(1, options.group));
  if (options.mode == MixMode::elem)
    return KeyedRandom(combine(r.key, static_cast<uint64_t>(Purpose::pair)));
  return key(Purpose::pair, r.position / 2);
}

void draw_mix(const MixOptions& options, const MixRequest& r, Row& row) {
  KeyedRandom random = draws_of(options, r);
  row.partner = r.index ^ 1;
  const bool both = options.mixup > 0 && options.cutmix > 0;
  const bool blend = both ? random.uniform() < 1 - options.switch_mix : options.mixup > 0;
  const double lambda = random.beta(blend ? options.mixup : options.cutmix);
  const auto x = static_cast<int64_t>(random.below(static_cast<uint64_t>(r.width)));
  const auto y = static_cast<int64_t>(random.below(static_cast<uint64_t>(r.height)));
  if (options.mix < 1 && random.uniform() >= options.mix) return;
  row.blend = blend;
  row.lambda = static_cast<float>(lambda);
  if (blend) return;
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

void draw_rectangle(const MixOptions& options, const MixRequest& r, int64_t count,
                    KeyedRandom& random, Row& row) {
  const auto area = static_cast<double>(r.width * r.height);
  const double reach = std::abs(std::log(options.erase_ratio));
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * random.uniform(options.erase_area_min, options.erase_area_max) /
                          static_cast<double>(count);
    const double ratio = std::exp(random.uniform(-reach, reach));
    const auto height = static_cast<int64_t>(std::nearbyint(std::sqrt(target * ratio)));
    const auto width = static_cast<int64_t>(std::nearbyint(std::sqrt(target / ratio)));
    if (height < 1 || width < 1 || height >= r.height || width >= r.width) continue;
    const auto top =
        static_cast<int64_t>(random.below(static_cast<uint64_t>(r.height - height + 1)));
    const auto left =
        static_cast<int64_t>(random.below(static_cast<uint64_t>(r.width - width + 1)));
    int32_t* const box = row.erase[row.erased++];
    box[0] = static_cast<int32_t>(left);
    box[1] = static_cast<int32_t>(top);
    box[2] = static_cast<int32_t>(left + width);
    box[3] = static_cast<int32_t>(top + height);
    return;
  }
}

void draw_erasing(const MixOptions& options, const MixRequest& r, Row& row) {
  KeyedRandom random(combine(r.key, static_cast<uint64_t>(Purpose::erase)));
  if (random.uniform() >= options.erase) return;
  row.erase_fill = options.erase_fill;
  int64_t count = 1;
  if (options.erase_count > 1)
    count += static_cast<int64_t>(random.below(static_cast<uint64_t>(options.erase_count)));
  for (int64_t i = 0; i < count; ++i) draw_rectangle(options, r, count, random, row);
}

}  // namespace

void mix_row(const MixOptions& options, const MixRequest& request, Row& row) {
  row.partner = request.index;
  row.lambda = 1;
  row.blend = false;
  std::fill(std::begin(row.box), std::end(row.box), 0);
  row.erased = 0;
  if (options.mixes()) draw_mix(options, request, row);
  if (options.erase > 0) draw_erasing(options, request, row);
}

void check_mix(const MixOptions& options) {
  require_valid(std::isfinite(options.mixup) && options.mixup >= 0,
                "mixup must be 0 (off) or a positive number");
  require_valid(std::isfinite(options.cutmix) && options.cutmix >= 0,
                "cutmix must be 0 (off) or a positive number");
  require_valid(
      options.mix >= 0 && options.mix <= 1 && options.switch_mix >= 0 && options.switch_mix <= 1,
      "the probabilities of mixing and of cutmix must be between 0 and 1");
  require_valid(options.mode != MixMode::batch || !options.mixes() || options.group > 0,
                "mixing per step needs the number of images in a step");
  require_valid(options.erase >= 0 && options.erase <= 1,
                "the probability of erasing must be between 0 and 1");
  require_valid(options.erase_count >= 1 && options.erase_count <= kMaxErasures,
                "the number of erased rectangles must be between 1 and 4");
  require_valid(options.erase_area_min > 0 && options.erase_area_min <= options.erase_area_max &&
                    options.erase_area_max <= 1,
                "the erased fraction of the area must be a range within (0, 1]");
  require_valid(options.erase_ratio > 0 && options.erase_ratio <= 1,
                "the smallest aspect ratio of an erased rectangle must be in (0, 1]");
}

}  // namespace shoal::data
