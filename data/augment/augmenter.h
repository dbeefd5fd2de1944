#pragma once
// What happens to the pixels of a training row after crop and flip: a policy, then jitter of its
// colours, grey, blur, solarizing.

#include <cstdint>
#include <vector>

#include "data/augment/editor.h"
#include "data/augment/policy.h"
#include "data/augment/settings.h"
#include "data/data_options.h"
#include "data/random.h"

namespace shoal::data::augment {

// One object per thread; it keeps its memory. Throws std::invalid_argument when options make no
// sense.
class Augmenter {
 public:
  Augmenter(const AugmentOptions& options, Interpolation interpolation, Isa isa = best_isa());

  // Factor of the magnitudes that RandAugment and AugMix are given, 0 or more; 1 at the start.
  void set_strength(double strength) { strength_ = strength; }

  // False when pixels stay as they are.
  bool active() const { return active_; }

  // In place; a pure function of the pixels and of `key`. height×width×3, RGB.
  void apply(uint64_t key, uint8_t* pixels, const Size& size);

  // The operations that the policy draws from `random`, in their order (no AugMix). Valid until the
  // next call.
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
  Policy policy_;
  Jitter jitter_;
  double strength_ = 1;
  bool active_;
  Editor editor_;
  std::vector<Operation> operations_;
  std::vector<double> left_;  // weights of what has not been drawn yet
  // AugMix: the image as it was, one chain's, the chains' sum; what each chain counts for.
  std::vector<uint8_t> image_, chain_;
  std::vector<float> mixed_;
  std::vector<double> weights_, shares_;
};

}  // namespace shoal::data::augment
