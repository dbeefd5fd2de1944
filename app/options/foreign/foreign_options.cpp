#include "app/options/foreign/foreign_options.h"

#include <algorithm>

#include "app/options/option_row.h"
#include "app/options/settings/encodings.h"
#include "base/text.h"

namespace shoal::app {
namespace {

constexpr const char* kSmddpRecipe = "smddp_efficientnet";

// Whether the user wrote the setting with this name, for example --ra-reps or ra_reps for
// `ra-reps`.
bool written_as(const Setting& setting, std::string_view name) {
  std::string written = with_dashes(setting.written);
  written.erase(0, written.find_first_not_of('-'));
  return written == name;
}

bool is_word(const std::vector<std::string>& words, const std::string& option) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return word == option || word.starts_with(option + "=");
  });
}

bool is_given(std::string_view name, const std::vector<Setting>& ours) {
  return std::any_of(ours.begin(), ours.end(),
                     [&](const Setting& setting) { return written_as(setting, name); });
}

// Returns the last setting of an option, which is the one that counts; null if there is none.
const Setting* last_of(std::string_view name, const std::vector<Setting>& ours) {
  const auto found = std::find_if(ours.rbegin(), ours.rend(),
                                  [&](const Setting& setting) { return setting.name == name; });
  return found == ours.rend() ? nullptr : &*found;
}

}  // namespace

const ForeignOption* find_foreign(std::string_view name) {
  const std::string wanted = with_dashes(name);
  for (const ForeignOption& option : foreign_options()) {
    if (option.name == wanted) return &option;
  }
  return nullptr;
}

Pairs translate(const ForeignOption& option, const std::string& encoded,
                std::vector<std::string>& ineffective) {
  const std::optional<std::string> plain = decoded(encoded);
  if (!plain) return {};
  const std::string value = joined_list(*plain, ",");
  const std::string written = (option.name.size() == 1 ? "-" : "--") + option.name;
  if (option.kind == Kind::flag) {
    try {
      if (!parse_flag(value)) return {};
    } catch (const std::invalid_argument& error) {
      throw UserError(written + " is '" + value + "'; it must be " + error.what());
    }
  }
  if (option.translate) return option.translate(value);
  if (!option.ours.empty()) return {{option.ours, option.kind == Kind::flag ? "true" : value}};
  const std::string line = written + " has no effect: " + option.meaning;
  if (std::find(ineffective.begin(), ineffective.end(), line) == ineffective.end())
    ineffective.push_back(line);
  return {};
}

std::string defaults_of(const ForeignOption& option) {
  for (const char* name : {"lr-init", "max-epochs", "train-batch-size"}) {
    if (option.name == name) return kSmddpRecipe;
  }
  return "";
}

namespace {

// Handles an option `modifier` that replaces the value that `flag` sets. Without `flag`, the
// modifier has no effect.
void resolve_pair(const char* flag, const char* modifier, std::vector<Setting>& ours,
                  std::vector<std::string>& ineffective) {
  const auto erase = [&](const char* name) {
    return std::erase_if(ours, [&](const Setting& s) { return written_as(s, name); }) > 0;
  };
  const bool modified = is_given(modifier, ours);
  if (modified && is_given(flag, ours)) {
    erase(flag);
  } else if (modified) {
    erase(modifier);
    ineffective.push_back("--" + std::string(modifier) + " has no effect: --" + flag +
                          " is not given");
  }
}

// Handles timm's learning rate: --lr, or --lr-base for a global batch of --lr-base-size images.
void resolve_learning_rate(std::vector<Setting>& ours, std::vector<std::string>& ineffective) {
  const auto drop = [&](const char* name, const std::string& why) {
    if (std::erase_if(ours, [&](const Setting& s) { return written_as(s, name); }) > 0)
      ineffective.push_back("--" + std::string(name) + " has no effect: " + why);
  };
  const auto is_base = [](const Setting& s) { return written_as(s, "lr-base"); };
  const auto is_lr = [&](const Setting& s) { return s.name == "lr" && !is_base(s); };
  const auto base = std::find_if(ours.rbegin(), ours.rend(), is_base);
  const auto lr = std::find_if(ours.rbegin(), ours.rend(), [&](const Setting& s) {
    return is_lr(s) && decoded(s.value);  // not null
  });
  const bool overrides =
      base < lr && lr != ours.rend() && source_of(base->origin) != source_of(lr->origin);
  if (overrides) std::erase_if(ours, is_lr);
  const bool has_lr = std::any_of(ours.begin(), ours.end(), [](const Setting& s) {
    return written_as(s, "lr") && decoded(s.value);
  });
  if (has_lr) {
    drop("lr-base", "--lr is given");
    drop("lr-base-size", "--lr is given");
  }
  const Setting* const last = last_of("optimizer", ours);
  const std::string optimizer = last ? last->value : "";
  if (optimizer == "adamw" || optimizer == "adam" || optimizer == "lamb") {
    const std::string why = "timm scales the learning rate of " + optimizer +
                            " by the square root of the batch size; use --lr";
    if (is_given("lr-base", ours)) throw UserError("--lr-base: " + why);
    drop("lr-base-size", why);
  }
  for (size_t i = 0; i < ours.size(); ++i)
    if (written_as(ours[i], "lr-base") && !is_given("lr-base-size", ours))
      ours.push_back({"scale-lr", "256", ours[i].origin, ""});
  double peak = 0;
  for (const Setting& setting : ours)
    if (is_lr(setting)) peak = parse_number<double>(setting.value).value_or(0);
  if (!(peak > 0)) drop("warmup-lr", "--lr is not given; use --warmup-start");
  for (Setting& setting : ours)
    if (written_as(setting, "warmup-lr"))
      setting.value = number(parse_number<double>(setting.value).value_or(0) / peak);
}

// If `option` itself is given, removes the values that another option sets for it. For example,
// timm's --opt lamb includes gradient clipping.
void resolve_included(const char* option, std::vector<Setting>& ours) {
  const auto is_included = [&](const Setting& s) { return s.name == option && s.written.empty(); };
  const bool given = std::any_of(ours.begin(), ours.end(), [&](const Setting& s) {
    return s.name == option && !is_included(s) && decoded(s.value);
  });
  if (given) std::erase_if(ours, is_included);
}

// Handles --optimizer of NVIDIA's TensorFlow program: `momentum` is SGD with momentum, and `sgd` is
// SGD without momentum.
void resolve_tensorflow_optimizer(std::vector<Setting>& ours) {
  const Setting* const last = last_of("optimizer", ours);
  if (!last) return;
  const bool plain = last->value == "sgd";
  const std::string origin = last->origin;
  for (Setting& setting : ours)
    if (setting.name == "optimizer" && setting.value == "momentum") setting.value = "sgd";
  if (plain) ours.push_back({"momentum", "0", origin, ""});
}

// Removes the values that one choice of optimizer implied (such as timm's eps for rmsproptf) if a
// later setting chooses an optimizer again.
void drop_of_other_optimizers(std::vector<Setting>& ours) {
  const Setting* const last = last_of("optimizer", ours);
  if (!last) return;
  const auto end = ours.begin() + (last - ours.data());
  const auto is_included = [](const Setting& s) {
    const bool of_optimizer =
        s.name == "clip" || s.name == "eps" || s.name == "momentum" || s.name == "nesterov";
    return of_optimizer && s.written.empty();
  };
  ours.erase(std::remove_if(ours.begin(), end, is_included), end);
}

}  // namespace

void resolve_foreign(const std::string& defaults, const std::vector<std::string>& words,
                     std::vector<Setting>& ours, std::vector<std::string>& ineffective) {
  resolve_pair("ra-sampler", "ra-reps", ours, ineffective);
  resolve_pair("model-ema", "model-ema-decay", ours, ineffective);
  resolve_learning_rate(ours, ineffective);
  if (defaults == kSmddpRecipe) resolve_tensorflow_optimizer(ours);
  drop_of_other_optimizers(ours);
  for (const char* option : {"clip", "eps", "momentum", "random-erase-mode", "scale-lr"})
    resolve_included(option, ours);
  if (defaults != kSmddpRecipe) return;
  const bool on_command_line = is_word(words, "--warmup_epochs");
  const auto is_theirs = [&](const Setting& setting) {
    return setting.name == "warmup-epochs" &&
           (setting.written == "warmup_epochs" ||
            (on_command_line && setting.written == "--warmup-epochs"));
  };
  if (std::erase_if(ours, is_theirs) > 0)
    ineffective.push_back(
        "--warmup_epochs has no effect: SMDDP's program only uses it to leave epochs out of its "
        "measurements; use --lr_warmup_epochs for the warm-up of the learning rate");
}

}  // namespace shoal::app
