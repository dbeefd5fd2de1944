#include "app/options/settings/settings.h"

#include <algorithm>
#include <filesystem>

#include "app/options/settings/config_file.h"
#include "app/options/settings/hyperparameters.h"
#include "app/options/settings/implied_settings.h"
#include "app/options/settings/saved_settings.h"
#include "app/platform/paths.h"
#include "app/platform/platform.h"
#include "app/weights/cache_folder.h"
#include "app/weights/remote_weights.h"
#include "base/format/counted.h"
#include "base/secrets.h"
#include "base/text.h"

namespace shoal::app {
namespace {

constexpr const char* kByDefault = "by default";

bool is_help(const std::string& word) {
  return word == "-h" || word == "--help" || word.starts_with("--help=");
}

// Parses the command line, and reads the file of --config. `settings` have lower precedence than
// the command line, and the file has lower precedence than `settings`.
Arguments with_config(Command command, const std::vector<std::string>& rest,
                      const std::vector<Setting>& settings, const Files& files) {
  Arguments arguments = parse(command, rest, settings);
  if (arguments.config.empty() || !arguments.help.empty()) return arguments;
  ConfigFile file = read_config(command, arguments.config, files);
  std::vector<Setting> all = file.settings;
  all.insert(all.end(), settings.begin(), settings.end());
  arguments = parse(command, rest, all);
  arguments.notes = std::move(file.notes);
  const std::string overridden = overridden_entries(file.settings, arguments);
  if (!overridden.empty()) arguments.notes.push_back(overridden);
  return arguments;
}

// Parses the command line and SageMaker's hyperparameters. The command line takes precedence.
// Unknown hyperparameters become a note, or an error with --strict-hyperparameters.
Arguments with_hyperparameters(const std::vector<std::string>& rest,
                               const dist::Variables& environment, const Files& files) {
  const Hyperparameters all = hyperparameters(environment, files);
  Arguments arguments = with_config(Command::train, rest, all.known, files);
  if (arguments.strict_hyperparameters && !all.unknown.empty()) {
    throw UserError(unknown_hyperparameters(all, /*with_ignored=*/false) +
                    "; correct their names, or remove --strict-hyperparameters");
  }
  if (arguments.strict_hyperparameters && all.none() && !on_platform(environment, files))
    arguments.ineffective.push_back(
        "--strict-hyperparameters has no effect: there are no hyperparameters of SageMaker");
  const std::string unknown = unknown_hyperparameters(all, /*with_ignored=*/true);
  if (!unknown.empty()) arguments.notes.push_back(unknown);
  return arguments;
}

// Fills in paths and platform settings from the environment, unless the user gave them.
class PathFiller {
 public:
  PathFiller(Arguments& arguments, const dist::Variables& environment, const Files& files)
      : arguments_(arguments), platform_(on_platform(environment, files)) {
    const train::Job& job = arguments.job;
    trains_ = arguments.command == Command::train && !job.eval_only;
    const bool evaluates =
        arguments.command == Command::train || arguments.command == Command::eval;
    wants_data_ = evaluates && job.data.empty() &&
                  (job.val_dir.empty() || (trains_ && job.train_dir.empty()));
    paths_ = find_paths(environment, files, wants_data_);
  }

  void fill() {
    arguments_.job.on_platform = platform_;
    if (wants_data_) fill_data();
    fill_one("output", paths_.output);
    fill_one("checkpoint-dir", paths_.checkpoints);
    fill_one("tensorboard", paths_.tensorboard);
    fill_one("cache-dir", paths_.cache);
    fill_one("export-dir", paths_.model);
    // After an interruption, SageMaker restarts the container with the same command line.
    if (platform_) fill_one("resume", PathWithOrigin{"true", "SageMaker"});
    if (arguments_.job.weights == "pretrained") fill_weights();
  }

 private:
  void fill_one(const std::string& option, const std::optional<PathWithOrigin>& place) {
    if (!place || arguments_.origins.contains(option)) return;
    if (!find_option(arguments_.command, option)) return;
    apply(arguments_, option, place->path, place->origin);
  }

  void fill_data() {
    train::Job& job = arguments_.job;
    // Without validation images, evaluation may use the images held out from training.
    const bool holds_out = !trains_ && !paths_.val && job.val_dir.empty();
    const bool uses_train = trains_ || holds_out;
    if (uses_train) fill_one("train", paths_.train);
    fill_one("val", paths_.val);
    const auto is_own = [](const std::string& path, const std::optional<PathWithOrigin>& place) {
      return place && path == place->path;
    };
    const bool train = uses_train && paths_.train_sharded && is_own(job.train_dir, paths_.train);
    const bool val = paths_.val_sharded && is_own(job.val_dir, paths_.val);
    if (train || val)
      fill_one("sharded", PathWithOrigin{train && val ? "both"
                                         : train      ? "train"
                                                      : "val",
                                         "SageMaker"});
    if (paths_.fast_files) fill_one("forward-reads", PathWithOrigin{"true", "SageMaker"});
    if (!platform_) return;  // opening the data reports what is missing
    std::string missing;
    const bool may_hold_out = holds_out && !job.train_dir.empty();  // see take_held_out()
    if (job.val_dir.empty() && job.val_split == 0 && !may_hold_out) missing = "validation";
    if (trains_ && job.train_dir.empty()) missing = "training";
    if (missing.empty()) return;
    throw UserError("no input channel contains " + missing + " images (channels: " +
                    (paths_.channels.empty() ? "none" : joined(paths_.channels)) +
                    "); add a channel named " +
                    (missing == "training" ? "train, or use --train DIR"
                                           : "validation, use --val DIR, or hold out training "
                                             "images with --val-split 0.1"));
  }

  // Replaces `--weights pretrained` with the path of the channel named pretrained. Without that
  // channel, uses torchvision's V1 weights, as --pretrained of PyTorch's imagenet example does. If
  // torchvision has none, uses the first of timm's weights for the model.
  void fill_weights() {
    const Option& model = require_option(arguments_.command, "model", kCommandLine);
    const std::string name = model.get(arguments_);
    const KnownWeights* const published = first_weights_of(name);
    const PathWithOrigin place =
        paths_.pretrained
            ? *paths_.pretrained
            : PathWithOrigin{published ? published->name : "torchvision:" + name + "/V1",
                             "no channel named pretrained"};
    if (name.empty() && !paths_.pretrained)
      throw UserError("--weights pretrained needs --model NAME or a channel named pretrained");
    find_known_weights(place.path);  // throws if the name is unknown
    apply(arguments_, "weights", place.path, arguments_.origins["weights"] + ", " + place.origin);
  }

  Arguments& arguments_;
  const bool platform_;
  bool trains_ = false, wants_data_ = false;
  Paths paths_;
};

}  // namespace

std::vector<std::string> command_words(int argc, const char* const* argv, bool platform) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const std::string program =
      argc > 0 ? std::filesystem::path(argv[0]).filename().string() : std::string();
  const bool named = program == "train";
  const bool command = !words.empty() && !words[0].starts_with("-");
  const bool asks =
      !words.empty() && (words[0] == "--help" || words[0] == "-h" || words[0] == "--version");
  // SageMaker appends "train" to the container's entry point, which may already end with "train".
  if (platform && words.size() > 1 && words[0] == "train" && words[1] == "train")
    words.erase(words.begin());
  if (named && command && words[0] == "train") return words;
  if (named || (platform && !command && !asks)) words.insert(words.begin(), "train");
  return words;
}

Arguments gather(const std::vector<std::string>& words, const dist::Variables& environment,
                 const Files& files) {
  if (words.empty()) throw UserError("no command given; see `shoal help`");
  const Command command = require_command(words[0]);
  std::vector<std::string> rest(words.begin() + 1, words.end());
  // The words after `config` are another command and its options; config_command() parses them.
  if (command == Command::config && !rest.empty() && !is_help(rest[0])) rest.clear();
  Arguments arguments = command == Command::train ? with_hyperparameters(rest, environment, files)
                                                  : with_config(command, rest, {}, files);
  arguments.words = words;
  if (const auto count = environment.find(kWordsVariable); count != environment.end())
    arguments.words.resize(
        std::min<size_t>(words.size(), parse_number<size_t>(count->second).value_or(words.size())));
  if (arguments.weights_cache.empty() && find_option(command, "weights-cache"))
    arguments.weights_cache = weights_cache_folder(environment);
  const bool has_paths =
      command == Command::train || command == Command::eval || command == Command::doctor;
  if (has_paths && arguments.help.empty() && arguments.recipe != "list")
    PathFiller(arguments, environment, files).fill();
  // Call imply_settings() after fill(), which replaces `pretrained` by the name of weights.
  // average_command() calls imply_settings() itself, for each set of weights.
  if (command != Command::average) imply_settings(arguments);
  if (const std::string base = dist::value_of(environment, "SAGEMAKER_BASE_DIR");
      has_paths && !base.empty() && !on_platform(environment, files))
    arguments.notes.push_back(
        "SAGEMAKER_BASE_DIR is " + base +
        ", but it has no folder input/config; the run is not treated as a SageMaker container");
  return arguments;
}

std::string shell_text(const std::string& program, const std::vector<std::string>& words) {
  std::string text = program;
  for (const std::string& word : words) {
    const std::string shown = masked(word);
    const bool plain =
        !shown.empty() && shown.find_first_of(" \t\n'\"\\$`*?[]{}()<>|&;#~!") == shown.npos;
    std::string quoted;
    for (const char c : shown) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += plain ? " " + shown : " '" + quoted + "'";
  }
  return text;
}

std::string command_text(const Arguments& arguments) {
  return shell_text("shoal", arguments.words);
}

namespace {

// Returns the options that have a value, grouped by origin. Each group has a title, "from ORIGIN"
// or "by default", and its options as NAME=VALUE in the order of the option table.
std::vector<std::pair<std::string, std::vector<std::string>>> by_origin(
    const Arguments& arguments) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const Option& option : options()) {
    if (!option.is_for(arguments.command)) continue;
    const std::string value = option.get(arguments);
    if (value.empty() || option.name == "help") continue;
    const auto origin = arguments.origins.find(option.name);
    std::string who = kByDefault;
    if (origin != arguments.origins.end()) {
      const std::string& config = arguments.config;
      const bool from_file = !config.empty() && origin->second.starts_with(config + ":");
      who = "from " + masked(from_file ? config : origin->second);  // without the line number
    }
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& entry) { return entry.first == who; });
    if (group == groups.end()) group = groups.insert(groups.end(), {who, {}});
    group->second.push_back(option.name + "=" + masked(value));
  }
  return groups;
}

}  // namespace

std::string requested_text(const Arguments& arguments) {
  std::string text;
  for (const auto& [who, entries] : by_origin(arguments)) {
    if (who == kByDefault) continue;
    text += text.empty() ? "" : "\n";
    const bool implied = who.starts_with(std::string("from ") + kRecipeOrigin) &&
                         !arguments.origins.contains("recipe");
    // All settings that a checkpoint can restore are listed later, with their final values.
    text += who == std::string("from ") + kCheckpointOrigin
                ? who + ": " + counted(static_cast<int64_t>(entries.size()), "setting") +
                      ", listed below"
                : wrapped(who + (implied ? ", which the command line implies:" : ":"), entries, 2);
  }
  return text;
}

std::string default_text(const Arguments& arguments) {
  for (const auto& [who, entries] : by_origin(arguments)) {
    if (who == kByDefault) return wrapped(who + ":", entries, 2);
  }
  return "";
}

}  // namespace shoal::app
