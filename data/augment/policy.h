#pragma once
// The published augmentation policies: their operations, and how operations are drawn.

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
    independent,       // `count` draws of one of `sequences` (RandAugment)
    mixed,             // AugMix
    torchvision_auto,  // one of `sequences`, with torchvision's 10 magnitudes
    torchvision_rand,  // `count` of torchvision's operations, all at the same magnitude, 0 … 30
    trivial,           // one of torchvision's operations at a random magnitude of Range::wide
  };
  Kind kind = Kind::none;
  std::vector<std::vector<Step>> sequences;
  // Weights of the sequences. With weights, each sequence is drawn at most once per image. Empty:
  // sequences are drawn uniformly and can repeat.
  std::vector<double> weights;
  int64_t count = 2;
  int64_t magnitude = 9;  // for torchvision_rand
  // Standard deviation of the normal distribution of magnitudes around the step's magnitude.
  // Infinite: magnitudes are drawn uniformly between 0 and the step's magnitude.
  double magnitude_deviation = 0;
  double magnitude_limit = 10;  // drawn magnitudes are clamped to 0 … magnitude_limit
  double translate = 0.45;      // see TimmScene
  // AugMix: `width` chains of `depth` steps each (0: one to three). The weights of the chains are
  // drawn from Dirichlet(alpha). The share of the chains' weighted sum in the result is drawn from
  // Beta(alpha, alpha). `blended`: blends the chains into the image one by one, without a sum.
  int64_t width = 3, depth = 0;
  double alpha = 1;
  bool blended = false;
};

// Parses a policy's name and settings. Throws std::invalid_argument whose message contains the
// invalid part and what is accepted instead.
//   none (no policy)
//   torchvision's: imagenet, ra[-mM][-nN], trivial (or ta_wide)
//   timm's: original, originalr, v0, v0r and 3a (or three-augment), each with [-mstdX];
//           rand[-mM][-nN][-pP][-mstdX][-mmaxM][-incI][-tSET];
//           augmix[-mM][-wW][-dD][-aA][-bB][-mstdX]
Policy parse_policy(const std::string& text);

// Returns the names of policies, with examples of settings, for --help and messages.
std::string policy_names();

namespace tables {
std::vector<std::vector<Step>> auto_augment(const std::string& name);  // original … v0r, 3a
std::vector<std::vector<Step>> rand_augment(bool increasing, double probability, double magnitude);
std::vector<std::vector<Step>> augmix(double magnitude);
// Returns the operations of timm's RandAugment set `name` (setting -tSET: "weights", "3a" or
// "3aw"); empty for other names. Sets `weights` to the relative probabilities with which the
// operations are drawn (Policy::weights); empty: all equal.
std::vector<std::vector<Step>> rand_set(const std::string& name, double probability,
                                        double magnitude, std::vector<double>& weights);
}  // namespace tables

}  // namespace shoal::data::augment
