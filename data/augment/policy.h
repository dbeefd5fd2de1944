#pragma once
// The published augmentation policies: which operations an image undergoes, and how they are drawn.

#include <cstdint>
#include <string>
#include <vector>

#include "data/augment/levels.h"

namespace shoal::data::augment {

// One operation of a policy, applied with a probability.
struct Step {
  Level level;
  double probability = 1;
  double magnitude = 10;
};

struct Policy {
  enum class Kind : uint8_t {
    none,
    one_sequence,      // all steps of one of `sequences` (AutoAugment, three-augment)
    independent,       // one of `sequences`, drawn `count` times (RandAugment)
    mixed,             // AugMix
    torchvision_auto,  // one of `sequences`, with torchvision's 10 magnitudes
    torchvision_rand,  // `count` of torchvision's operations at one of 31 magnitudes
    trivial,           // one of torchvision's operations at a random wide magnitude
  };
  Kind kind = Kind::none;
  std::vector<std::vector<Step>> sequences;
  // Weights of the sequences. If there are weights, each sequence is drawn at most once. If empty,
  // sequences are drawn uniformly and can repeat.
  std::vector<double> weights;
  int64_t count = 2;
  int64_t magnitude = 9;  // for torchvision_rand
  // Standard deviation of the normal distribution of magnitudes. Infinite: a magnitude is uniform
  // between 0 and that of the step.
  double magnitude_deviation = 0;
  double magnitude_limit = 10;
  double translate = 0.45;  // see TimmScene
  // AugMix: `width` chains of `depth` steps (0: one to three), weighted by Dirichlet(alpha) and
  // mixed with the original image by Beta(alpha, alpha). `blended`: blends one chain after the
  // other into the image instead of summing them first.
  int64_t width = 3, depth = 0;
  double alpha = 1;
  bool blended = false;
};

// Parses a policy's name and settings. Throws std::invalid_argument that names the invalid part and
// the accepted ones.
//   none; imagenet, ra[-mM][-nN], trivial (or ta_wide): torchvision's
//   original, originalr, v0, v0r, 3a (or three-augment), with -mstdX: timm's
//   rand[-mM][-nN][-pP][-mstdX][-mmaxM][-incI][-tSET], augmix[-mM][-wW][-dD][-aA][-bB][-mstdX]:
//   timm's
Policy parse_policy(const std::string& text);

// Returns the names of policies, with examples of settings, for --help and messages.
std::string policy_names();

namespace tables {
std::vector<std::vector<Step>> auto_augment(const std::string& name);  // original … v0r, 3a
std::vector<std::vector<Step>> rand_augment(bool increasing, double probability, double magnitude);
std::vector<std::vector<Step>> augmix(double magnitude);
// Returns the operation set that RandAugment's setting t names (weights, 3a or 3aw); empty for
// other names. Sets `weights` to the weights of the operations; empty for sets without weights.
std::vector<std::vector<Step>> rand_set(const std::string& name, double probability,
                                        double magnitude, std::vector<double>& weights);
}  // namespace tables

}  // namespace shoal::data::augment
