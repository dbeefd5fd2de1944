#include "data/augment/augmenter.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace shoal::data::augment {
namespace {

// Number of magnitudes in torchvision: 10 in AutoAugment, 31 in RandAugment and TrivialAugment.
constexpr int64_t kAutoBins = 10, kBins = 31;

// The operations of torchvision's RandAugment and TrivialAugment.
constexpr std::array kTorchvision = {Effect::identity,      Effect::shear_x,     Effect::shear_y,
                                     Effect::translate_x,   Effect::translate_y, Effect::rotate,
                                     Effect::brightness,    Effect::color,       Effect::contrast,
                                     Effect::sharpness,     Effect::posterize,   Effect::solarize,
                                     Effect::auto_contrast, Effect::equalize};

Effect effect_of(Level level) {
  const TimmScene scene{{1, 1}};
  KeyedRandom random(0);
  return timm_operation(level, 0, scene, random).effect;
}

bool happens(double probability, KeyedRandom& random) {
  return probability > 0 && random.uniform() < probability;
}

int64_t below(int64_t bound, KeyedRandom& random) {
  return static_cast<int64_t>(random.below(static_cast<uint64_t>(bound)));
}

}  // namespace

Augmenter::Augmenter(const AugmentOptions& options, Interpolation interpolation, Isa isa,
                     const ChannelValues& mean)
    : options_(options),
      interpolation_(interpolation),
      policy_(parse_policy(options.policy)),
      jitter_(parse_jitter(options.color_jitter)),
      active_(policy_.kind != Policy::Kind::none || jitter_.brightness > 0 ||
              jitter_.contrast > 0 || jitter_.saturation > 0 || jitter_.hue > 0 ||
              options.grayscale > 0 || options.gaussian_blur > 0 || options.solarize > 0),
      editor_(isa) {
  check_augment(options);
  for (size_t c = 0; c < fill_.size(); ++c)
    fill_[c] = static_cast<uint8_t>(std::nearbyint(255 * mean[c]));
}

void Augmenter::apply(uint64_t key, uint8_t* pixels, const Size& size) {
  if (!active_) return;
  KeyedRandom random(combine(key, static_cast<uint64_t>(Purpose::augment)));
  if (policy_.kind == Policy::Kind::mixed) {
    mix(pixels, size, random);
  } else {
    for (const Operation& operation : draw(size, random)) editor_.apply(operation, pixels, size);
  }
  jitter(pixels, size, random);
  if (happens(options_.grayscale, random)) editor_.apply({Effect::grayscale}, pixels, size);
  if (happens(options_.gaussian_blur, random))
    editor_.apply({Effect::gaussian_blur, random.uniform(0.1, 2.0)}, pixels, size);
  if (happens(options_.solarize, random)) editor_.apply({Effect::solarize, 128}, pixels, size);
}

const std::vector<Operation>& Augmenter::draw(const Size& size, KeyedRandom& random) {
  operations_.clear();
  switch (policy_.kind) {
    case Policy::Kind::none:
    case Policy::Kind::mixed:
      break;
    case Policy::Kind::one_sequence: {
      const auto chosen = below(static_cast<int64_t>(policy_.sequences.size()), random);
      for (const Step& step : policy_.sequences[static_cast<size_t>(chosen)])
        add(step, size, random);
      break;
    }
    case Policy::Kind::independent:
      draw_independent(size, random);
      break;
    case Policy::Kind::torchvision_auto:
    case Policy::Kind::torchvision_rand:
    case Policy::Kind::trivial:
      draw_torchvision(size, random);
      break;
  }
  return operations_;
}

Sampling Augmenter::draw_sampling(KeyedRandom& random) const {
  const bool either = interpolation_ == Interpolation::random && random.uniform() < 0.5;
  return interpolation_ == Interpolation::bilinear || either ? Sampling::bilinear
                                                             : Sampling::bicubic;
}

// Draws whether to apply a step of a timm policy. If so, draws magnitude and interpolation, and
// adds the operation to operations_.
void Augmenter::add(const Step& step, const Size& size, KeyedRandom& random) {
  if (step.probability < 1 && !happens(step.probability, random)) return;
  // strength_ scales only the single magnitude of RandAugment and AugMix, not the magnitudes that
  // other policies define for each step.
  const bool given = policy_.kind != Policy::Kind::one_sequence;
  double magnitude = step.magnitude * (given ? strength_ : 1);
  if (std::isinf(policy_.magnitude_deviation))
    magnitude = random.uniform(0, magnitude);
  else if (policy_.magnitude_deviation > 0)
    magnitude += policy_.magnitude_deviation * random.normal();
  TimmScene scene;
  scene.size = size;
  scene.fill = fill_;
  scene.translate = policy_.translate;
  scene.sampling = draw_sampling(random);
  magnitude = std::clamp(magnitude, 0.0, policy_.magnitude_limit);
  operations_.push_back(timm_operation(step.level, magnitude, scene, random));
}

void Augmenter::draw_independent(const Size& size, KeyedRandom& random) {
  left_ = policy_.weights;
  for (int64_t i = 0; i < policy_.count; ++i) {
    size_t chosen = 0;
    if (left_.empty()) {
      chosen = static_cast<size_t>(below(static_cast<int64_t>(policy_.sequences.size()), random));
    } else {
      double sum = 0;
      for (const double weight : left_) sum += weight;
      double place = random.uniform() * sum;
      for (size_t k = 0; k < left_.size(); ++k) {
        if (left_[k] == 0) continue;
        chosen = k;
        if (place < left_[k]) break;
        place -= left_[k];
      }
      left_[chosen] = 0;
    }
    for (const Step& step : policy_.sequences[chosen]) add(step, size, random);
  }
}

void Augmenter::draw_torchvision(const Size& size, KeyedRandom& random) {
  if (policy_.kind == Policy::Kind::torchvision_auto) {
    const auto chosen = below(static_cast<int64_t>(policy_.sequences.size()), random);
    for (const Step& step : policy_.sequences[static_cast<size_t>(chosen)]) {
      if (step.probability < 1 && !happens(step.probability, random)) continue;
      operations_.push_back(
          torchvision_operation(effect_of(step.level), static_cast<int64_t>(step.magnitude),
                                kAutoBins, Range::usual, size, draw_sampling(random), random));
    }
    return;
  }
  const bool trivial = policy_.kind == Policy::Kind::trivial;
  for (int64_t i = 0; i < (trivial ? 1 : policy_.count); ++i) {
    const Effect effect =
        kTorchvision[static_cast<size_t>(below(int64_t{kTorchvision.size()}, random))];
    const int64_t bin =
        trivial
            ? below(kBins, random)
            : std::clamp<int64_t>(std::llround(strength_ * static_cast<double>(policy_.magnitude)),
                                  0, kBins - 1);
    operations_.push_back(torchvision_operation(effect, bin, kBins,
                                                trivial ? Range::wide : Range::usual, size,
                                                draw_sampling(random), random));
  }
}

// Jitters brightness, contrast, saturation and hue in a random order.
void Augmenter::jitter(uint8_t* pixels, const Size& size, KeyedRandom& random) {
  const std::array<std::pair<Effect, double>, 4> parts = {{{Effect::brightness, jitter_.brightness},
                                                           {Effect::contrast, jitter_.contrast},
                                                           {Effect::color, jitter_.saturation},
                                                           {Effect::hue, jitter_.hue}}};
  std::array<size_t, 4> order = {0, 1, 2, 3};
  for (size_t i = 3; i > 0; --i)
    std::swap(order[i], order[static_cast<size_t>(below(static_cast<int64_t>(i) + 1, random))]);
  for (const size_t part : order) {
    const auto [effect, reach] = parts[part];
    if (reach == 0) continue;
    const double amount = effect == Effect::hue
                              ? random.uniform(-reach, reach)
                              : random.uniform(std::max(0.0, 1 - reach), 1 + reach);
    editor_.apply({effect, amount}, pixels, size);
  }
}

void Augmenter::run_chain(uint8_t* pixels, const Size& size, KeyedRandom& random) {
  const int64_t depth = policy_.depth > 0 ? policy_.depth : 1 + below(3, random);
  operations_.clear();
  for (int64_t i = 0; i < depth; ++i) {
    const auto chosen = below(static_cast<int64_t>(policy_.sequences.size()), random);
    add(policy_.sequences[static_cast<size_t>(chosen)][0], size, random);
  }
  for (const Operation& operation : operations_) editor_.apply(operation, pixels, size);
}

// Draws the weights of AugMix's chains. They sum to 1.
void Augmenter::draw_weights(KeyedRandom& random) {
  weights_.resize(static_cast<size_t>(policy_.width));
  double largest = -INFINITY, sum = 0;
  for (double& weight : weights_) {
    weight = random.log_gamma_variate(policy_.alpha);
    largest = std::max(largest, weight);
  }
  for (double& weight : weights_) sum += weight = std::exp(weight - largest);
  for (double& weight : weights_) weight /= sum;
}

// Applies AugMix. Each chain starts from the original image.
void Augmenter::mix(uint8_t* pixels, const Size& size, KeyedRandom& random) {
  draw_weights(random);
  const double share = random.beta(policy_.alpha);
  const auto bytes = static_cast<size_t>(3 * size.width * size.height);
  image_.assign(pixels, pixels + bytes);
  // Each blend scales down the chains that were blended before it. Therefore computes the blend
  // factors from last to first, so that chain i ends up with the weight weights_[i] * share.
  if (policy_.blended) {
    shares_.resize(weights_.size());
    double rest = 1;
    for (size_t i = weights_.size(); i-- > 0;) {
      shares_[i] = rest > 0 ? std::min(1.0, weights_[i] * share / rest) : 0;
      rest *= 1 - shares_[i];
    }
    for (const double part : shares_) {
      chain_ = image_;
      run_chain(chain_.data(), size, random);
      editor_.blend(pixels, chain_.data(), part, size);
    }
    return;
  }
  mixed_.assign(bytes, 0);
  for (const double weight : weights_) {
    chain_ = image_;
    run_chain(chain_.data(), size, random);
    const auto part = static_cast<float>(weight);
    for (size_t i = 0; i < bytes; ++i) mixed_[i] += part * static_cast<float>(chain_[i]);
  }
  for (size_t i = 0; i < bytes; ++i)
    chain_[i] = static_cast<uint8_t>(std::clamp(mixed_[i], 0.0F, 255.0F));
  editor_.blend(pixels, chain_.data(), share, size);
}

}  // namespace shoal::data::augment
