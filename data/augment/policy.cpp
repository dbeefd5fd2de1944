#include "data/augment/policy.h"

#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "base/text.h"

namespace shoal::data::augment {
namespace {

using Kind = Policy::Kind;

// A setting after the policy's name: a key followed by a number or a word. `part`: key and value as
// the user wrote them.
struct Setting {
  std::string part, key, value;
};

[[noreturn]] void refuse(const std::string& part, const std::string& known) {
  throw std::invalid_argument("a valid policy; its part '" + part + "' is invalid: " + known);
}

std::vector<Setting> settings_of(const std::string& text, std::string& name) {
  std::istringstream parts(text);
  std::getline(parts, name, '-');
  std::vector<Setting> settings;
  for (std::string part; std::getline(parts, part, '-');) {
    const size_t digit = part.find_first_of("0123456789.");
    const bool word = part.starts_with("t");  // the only key whose value is a word
    const size_t end = word ? 1 : std::min(digit, part.size());
    settings.push_back({part, part.substr(0, end), part.substr(end)});
  }
  if (text.ends_with("-")) settings.push_back({"-", "", ""});
  return settings;
}

// Returns the setting's number. Throws if it is not between `low` and `high`. The message states
// `range` if given, else these two limits.
double number(const Setting& setting, double low, double high, bool whole,
              const std::string& range = "") {
  const auto value = parse_number<double>(setting.value);
  const bool good =
      value && *value >= low && *value <= high && (!whole || *value == std::floor(*value));
  if (!good) {
    std::ostringstream text;
    text << setting.key << " takes a " << (whole ? "whole " : "") << "number from ";
    if (range.empty())
      text << low << " to " << high;
    else
      text << range;
    refuse(setting.part, text.str());
  }
  return *value;
}

constexpr const char* kAutoKeys = "this policy accepts only mstd, with a number";
constexpr const char* kRandKeys =
    "rand accepts m, n, p, mstd, mmax, inc, each with a number, and tweights, t3a or t3aw";
constexpr const char* kAugmixKeys = "augmix accepts m, w, d, a, b, mstd, each with a number";
constexpr const char* kRaKeys = "ra accepts m (0 to 30) and n, each with a number";

Policy auto_augment(const std::string& name, const std::vector<Setting>& settings) {
  Policy policy;
  policy.kind = Kind::one_sequence;
  policy.sequences = tables::auto_augment(name);
  for (const Setting& s : settings) {
    if (s.key != "mstd") refuse(s.part, kAutoKeys);
    policy.magnitude_deviation = number(s, 0, 1000, false);
  }
  return policy;
}

Policy rand_augment(const std::vector<Setting>& settings) {
  Policy policy;
  policy.kind = Kind::independent;
  double magnitude = 10, probability = 0.5;
  bool increasing = false;
  std::string limited;  // the setting that the error message quotes: m if given, else mmax
  const Setting* named = nullptr;
  for (const Setting& s : settings) {
    if (s.key == "m") {
      magnitude = number(s, 0, 100, true, "0 to 10, or with mmaxN to N, at most 100");
      limited = s.part;
    } else if (s.key == "n") {
      policy.count = static_cast<int64_t>(number(s, 1, 100, true));
    } else if (s.key == "p") {
      probability = number(s, 0, 1, false);
    } else if (s.key == "mstd") {
      const double deviation = number(s, 0, 1e6, false);
      policy.magnitude_deviation =
          deviation > 100 ? std::numeric_limits<double>::infinity() : deviation;
    } else if (s.key == "mmax") {
      policy.magnitude_limit = number(s, 1, 100, true);
      if (limited.empty()) limited = s.part;
    } else if (s.key == "inc") {
      increasing = number(s, 0, 1, true) != 0;
    } else if (s.key == "t") {
      named = &s;
    } else {
      refuse(s.part, kRandKeys);
    }
  }
  if (magnitude > policy.magnitude_limit) {  // timm would lower it without a message
    std::ostringstream why;
    why << "the largest magnitude is " << policy.magnitude_limit << "; write m"
        << policy.magnitude_limit << ", or raise it with mmax" << magnitude;
    refuse(limited, why.str());
  }
  policy.sequences = named ? tables::rand_set(named->value, probability, magnitude, policy.weights)
                           : tables::rand_augment(increasing, probability, magnitude);
  if (policy.sequences.empty()) refuse(named->part, kRandKeys);
  if (!policy.weights.empty() && policy.count > static_cast<int64_t>(policy.weights.size()))
    refuse("n" + std::to_string(policy.count),
           "each operation of a weighted set is drawn only once");
  return policy;
}

Policy augmix(const std::vector<Setting>& settings) {
  Policy policy;
  policy.kind = Kind::mixed;
  policy.translate = 0.3;
  policy.magnitude_deviation = std::numeric_limits<double>::infinity();
  double magnitude = 3;
  for (const Setting& s : settings) {
    if (s.key == "m") {
      magnitude = number(s, 0, 10, true);
    } else if (s.key == "w") {
      policy.width = static_cast<int64_t>(number(s, 1, 100, true));
    } else if (s.key == "d") {
      policy.depth = static_cast<int64_t>(number(s, 0, 100, true));
    } else if (s.key == "a") {
      policy.alpha = number(s, 0.001, 1000, false);
    } else if (s.key == "b") {
      policy.blended = number(s, 0, 1, true) != 0;
    } else if (s.key == "mstd") {
      policy.magnitude_deviation = number(s, 0, 1e6, false);
    } else {
      refuse(s.part, kAugmixKeys);
    }
  }
  policy.sequences = tables::augmix(magnitude);
  return policy;
}

Policy torchvision_rand(const std::vector<Setting>& settings) {
  Policy policy;
  policy.kind = Kind::torchvision_rand;
  for (const Setting& s : settings) {
    if (s.key == "m") {
      policy.magnitude = static_cast<int64_t>(number(s, 0, 30, true));
    } else if (s.key == "n") {
      policy.count = static_cast<int64_t>(number(s, 1, 100, true));
    } else {
      refuse(s.part, kRaKeys);
    }
  }
  return policy;
}

Policy without_settings(Kind kind, const std::string& name, const std::vector<Setting>& settings) {
  if (!settings.empty()) refuse(settings[0].part, name + " accepts no settings");
  Policy policy;
  policy.kind = kind;
  if (kind == Kind::torchvision_auto) policy.sequences = tables::auto_augment("original");
  return policy;
}

}  // namespace

std::string policy_names() {
  return "none, imagenet, ra-m9-n2, trivial, original, originalr, v0, v0r, three-augment, "
         "rand-m9-mstd0.5-inc1, augmix-m3-w3";
}

Policy parse_policy(const std::string& text) {
  std::string name;
  const bool three = text == "three-augment" || text.starts_with("three-augment-");
  const std::vector<Setting> settings = settings_of(three ? "3a" + text.substr(13) : text, name);
  if (name == "rand") return rand_augment(settings);
  if (name == "augmix") return augmix(settings);
  if (name == "ra") return torchvision_rand(settings);
  if (name == "none") return without_settings(Kind::none, name, settings);
  if (name == "imagenet") return without_settings(Kind::torchvision_auto, name, settings);
  if (name == "trivial" || name == "ta_wide")
    return without_settings(Kind::trivial, name, settings);
  if (!tables::auto_augment(name).empty()) return auto_augment(name, settings);
  refuse(name, "policies are " + policy_names());
}

}  // namespace shoal::data::augment
