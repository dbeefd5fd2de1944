#pragma once
// The published recipes of which operations an image goes through, as values.

#include <cstdint>
#include <string>
#include <vector>

#include "data/augment/levels.h"

namespace shoal::data::augment {

// One operation of a policy, carried out with a probability.
struct Step {
  Level level;
  double probability = 1;
  double magnitude = 10;
};

struct Policy {
  enum class Kind : uint8_t {
    none,
    one_sequence,      // one of `sequences`, all its steps (AutoAugment, three-augment)
    independent,       // `count` times one of `sequences` (RandAugment)
    mixed,             // AugMix
    torchvision_auto,  // `sequences` with torchvision's magnitudes, 10 of them
    torchvision_rand,  // `count` of torchvision's operations at one of its 31 magnitudes
    trivial,           // one of torchvision's operations at any of its wide magnitudes
  };
  Kind kind = Kind::none;
  std::vector<std::vector<Step>> sequences;
  std::vector<double> weights;  // of the sequences, each taken at most once; empty: all alike
  int64_t count = 2;
  int64_t magnitude = 9;  // of torchvision_rand
  // Magnitudes are drawn from a normal distribution of this deviation; infinite: evenly from 0 on.
  double magnitude_deviation = 0;
  double magnitude_limit = 10;
  double translate = 0.45;  // see TimmScene
  // AugMix: chains of so many steps (0: one to three), weighed by Dirichlet(alpha) and mixed with
  // the image by Beta(alpha, alpha); `blended`: chain by chain.
  int64_t width = 3, depth = 0;
  double alpha = 1;
  bool blended = false;
};

// A policy from its name and settings. Throws std::invalid_argument with what the text must be and
// which part of it is not.
//   none; imagenet, ra[-mM][-nN], trivial (or ta_wide): torchvision's
//   original, originalr, v0, v0r, 3a (or three-augment), with -mstdX: timm's
//   rand[-mM][-nN][-pP][-mstdX][-mmaxM][-incI][-tSET], augmix[-mM][-wW][-dD][-aA][-bB][-mstdX]:
//   likewise
Policy parse_policy(const std::string& text);

// The names, for --help and messages.
std::string policy_names();

namespace tables {
std::vector<std::vector<Step>> auto_augment(const std::string& name);  // original … v0r, 3a
std::vector<std::vector<Step>> rand_augment(bool increasing, double probability, double magnitude);
std::vector<std::vector<Step>> augmix(double magnitude);
// The sets that RandAugment's key t names; empty when there is none of that name. `weights` stays
// empty where all are alike.
std::vector<std::vector<Step>> rand_set(const std::string& name, double probability,
                                        double magnitude, std::vector<double>& weights);
}  // namespace tables

}  // namespace shoal::data::augment
