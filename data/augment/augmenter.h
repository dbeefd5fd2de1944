#pragma once
// Augments the pixels of a training image after crop and flips: applies the policy first, then
// color jitter, grayscale, blur and solarize.

#include <array>
#include <cstdint>
#include <vector>

#include "data/augment/editor.h"
#include "data/augment/policy.h"
#include "data/augment/settings.h"
#include "data/data_options.h"
#include "data/random.h"

namespace shoal::data::augment {

// Use one object per thread; it reuses its memory. The constructor throws std::invalid_argument for
// invalid options.
class Augmenter {
 public:
  // `mean`: mean pixel value per channel, from 0 to 1. timm's policies fill empty areas with it.
  Augmenter(const AugmentOptions& options, Interpolation interpolation, Isa isa = best_isa(),
            const ChannelValues& mean = Normalization().mean);

  // Sets a factor, at least 0, by which the magnitudes of RandAugment and AugMix are multiplied.
  // Initially 1.
  void set_strength(double strength) { strength_ = strength; }

  // Augments height×width×3 RGB pixels in place. With the same options and strength, the result
  // depends only on the pixels and `key`.
  void apply(uint64_t key, uint8_t* pixels, const Size& size);

  // Draws the policy's operations from `random` and returns them in order; for AugMix, returns none
  // (only apply() draws them). The result is valid until the next call of draw() or apply().
  const std::vector<Operation>& draw(const Size& size, KeyedRandom& random);

 private:
  void mix(uint8_t* pixels, const Size& size, KeyedRandom& random);
  void run_chain(uint8_t* pixels, const Size& size, KeyedRandom& random);
  void jitter(uint8_t* pixels, const Size& size, KeyedRandom& random);
  void add(const Step& step, const Size& size, KeyedRandom& random);
  void draw_independent(const Size& size, KeyedRandom& random);
  void draw_torchvision(const Size& size, KeyedRandom& random);
  Sampling draw_sampling(KeyedRandom& random) const;
  void draw_weights(KeyedRandom& random);

  AugmentOptions options_;
  Interpolation interpolation_;
  std::array<uint8_t, 3> fill_{};
  Policy policy_;
  Jitter jitter_;
  double strength_ = 1;
  bool active_;
  Editor editor_;
  std::vector<Operation> operations_;
  std::vector<double> left_;  // weights of the operations; 0: already drawn for this image
  // AugMix. image_: the original image. chain_: result of one chain. mixed_: weighted sum of the
  // chains. weights_: weights of the chains. shares_: blend factors if policy_.blended.
  std::vector<uint8_t> image_, chain_;
  std::vector<float> mixed_;
  std::vector<double> weights_, shares_;
};

}  // namespace shoal::data::augment
