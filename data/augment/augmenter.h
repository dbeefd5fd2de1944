#pragma once
// Augments the pixels of a training image after crop and flips: the policy first, then color
// jitter, grayscale, blur and solarize.

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
  // `mean`: mean pixel value per channel, from 0 to 1. timm's policies fill with this color.
  Augmenter(const AugmentOptions& options, Interpolation interpolation, Isa isa = best_isa(),
            const ChannelValues& mean = Normalization().mean);

  // Sets the factor for the magnitudes of RandAugment and AugMix, 0 or more. Initially 1.
  void set_strength(double strength) { strength_ = strength; }

  // Augments height×width×3 RGB pixels in place. For given options and strength, the result depends
  // only on the pixels and on `key`.
  void apply(uint64_t key, uint8_t* pixels, const Size& size);

  // Returns the operations that the policy draws from `random`, in order; none for AugMix. The
  // result is valid until the next call of draw() or apply().
  const std::vector<Operation>& draw(const Size& size, KeyedRandom& random);

 private:
  void mix(uint8_t* pixels, const Size& size, KeyedRandom& random);
  void run_chain(uint8_t* pixels, const Size& size, KeyedRandom& random);
  void jitter(uint8_t* pixels, const Size& size, KeyedRandom& random);
  void add(const Step& step, const Size& size, KeyedRandom& random);
  void draw_independent(const Size& size, KeyedRandom& random);
  void draw_torchvision(const Size& size, KeyedRandom& random);
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
  std::vector<double> left_;  // weights of the operations that can still be drawn; 0: drawn already
  // AugMix: image_ is the original image, chain_ the result of one chain, mixed_ the weighted sum
  // of the chains. weights_ are the chains' weights, shares_ the blend factors if policy_.blended.
  std::vector<uint8_t> image_, chain_;
  std::vector<float> mixed_;
  std::vector<double> weights_, shares_;
};

}  // namespace shoal::data::augment
