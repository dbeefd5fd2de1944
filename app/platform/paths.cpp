#include "app/platform/paths.h"

#include <algorithm>
#include <map>
#include <set>

#include "app/platform/platform.h"
#include "app/platform/platform_json.h"
#include "base/json.h"
#include "base/text.h"
#include "train/job/job.h"

namespace shoal::app {
namespace {

using dist::value_of;
using dist::Variables;

bool holds_no_images(const std::string& channel) {
  for (const char* name : {"code", "model", "sm_drivers", "pretrained"}) {
    if (channel == name) return true;
  }
  return false;
}

// Returns an entry of a channel's configuration, or `absent` if there is none or it is null. Throws
// UserError if it is not a string.
std::string word(const nlohmann::json& channel, const char* entry, const std::string& path,
                 const std::string& absent) {
  const auto found = channel.find(entry);
  if (found == channel.end() || found->is_null()) return absent;
  if (!found->is_string()) throw UserError(path + ": " + entry + " must be a string; fix it");
  return found->get<std::string>();
}

class Channels {
 public:
  Channels(const Variables& environment, const Files& files, bool platform)
      : environment_(environment), files_(files), input_(platform_base(environment) / "input") {
    if (const std::string list = value_of(environment, "SM_CHANNELS"); !list.empty()) {
      const auto json = parse_json(list);
      if (!json.is_array())
        throw UserError("SM_CHANNELS is '" + list + "'; it must be a JSON list");
      for (const auto& name : json) {
        if (name.is_string()) names_.insert(name.get<std::string>());
      }
    }
    if (platform) {
      read_config();
      for (const std::string& name : files.folders(input_ + "/data")) names_.insert(name);
    }
    for (const auto& [name, value] : environment) {
      for (const std::string prefix : {"SM_CHANNEL_", "SSM_CHANNEL_"}) {
        if (name.starts_with(prefix) && !value.empty()) add_variable(name.substr(prefix.size()));
      }
    }
  }

  // Returns the channel named `wanted` (lower case), ignoring case; empty if there is none.
  std::string named(const std::string& wanted) const {
    for (const std::string& name : names_) {
      if (lower(name) == wanted) return name;
    }
    return "";
  }
  const std::set<std::string>& names() const { return names_; }

  PathWithOrigin place(const std::string& name) const {
    for (const char* prefix : {"SM_CHANNEL_", "SSM_CHANNEL_"}) {
      const std::string path = value_of(environment_, prefix + upper(name));
      if (!path.empty()) return {path, prefix + upper(name)};
    }
    return {input_ + "/data/" + name, "channel " + name};
  }

  // Returns where the images of channel `name` are: its pipe in pipe mode (`folder` is then
  // ignored), otherwise its directory or the subdirectory `folder`.
  PathWithOrigin images(const std::string& name, const std::string& folder = "") const {
    PathWithOrigin found = place(name);
    if (is_in_mode(name, "pipe")) {
      found.path = "pipe:" + found.path;
    } else if (!folder.empty()) {
      found.path += "/" + folder;
    }
    return found;
  }

  // `mode`: lower case.
  bool is_in_mode(const std::string& name, const std::string& mode) const {
    const auto found = modes_.find(name);
    return found != modes_.end() && lower(found->second) == mode;
  }
  // Whether S3 objects are distributed over the hosts (ShardedByS3Key).
  bool is_sharded(const std::string& name) const { return sharded_.contains(name); }

  // Returns the first of `folders` that exists in the channel, or an empty string.
  std::string half(const std::string& name, const std::vector<std::string>& folders) const {
    for (const std::string& folder : folders) {
      if (files_.is_folder(place(name).path + "/" + folder)) return folder;
    }
    return "";
  }

 private:
  void read_config() {
    const std::string path = input_ + "/config/inputdataconfig.json";
    const auto text = files_.read(path);
    if (!text) return;
    const auto config = parse_platform_json(path, *text);
    for (const auto& [name, channel] : config.items()) {
      names_.insert(name);
      if (!channel.is_object()) continue;
      modes_[name] = word(channel, "TrainingInputMode", path, "File");
      if (word(channel, "S3DistributionType", path, "") == "ShardedByS3Key") sharded_.insert(name);
    }
  }

  // Adds the channel NAME of a variable SM_CHANNEL_NAME or SSM_CHANNEL_NAME, unless it is known.
  // `shouted`: NAME as in the variable, usually in upper case.
  void add_variable(const std::string& shouted) {
    for (const std::string& name : names_) {
      if (upper(name) == upper(shouted)) return;
    }
    names_.insert(lower(shouted));
  }

  const Variables& environment_;
  const Files& files_;
  std::string input_;
  std::set<std::string> names_;
  std::map<std::string, std::string> modes_;
  std::set<std::string> sharded_;
};

const std::vector<std::string> kTrainFolders = {"train", "training"};
const std::vector<std::string> kValFolders = {"val", "validation", "valid", "eval", "test"};

std::string first_of(const Channels& channels, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (const std::string channel = channels.named(name); !channel.empty()) return channel;
  }
  return "";
}

bool holds_both(const Channels& channels, const std::string& name) {
  return !channels.half(name, kTrainFolders).empty() && !channels.half(name, kValFolders).empty();
}

// Combines the channels STEM_0, STEM_1, …, one per process, into one source. STEM_0 must exist.
// Throws UserError if there are several channels and not all of them are pipes.
PathWithOrigin numbered(const Channels& channels, const std::string& stem, const char* option) {
  const auto channel = [&](int64_t number) {
    return channels.named(lower(stem) + "_" + std::to_string(number));
  };
  int64_t count = 0;
  bool pipes = true;
  for (; !channel(count).empty(); ++count)
    pipes = pipes && channels.is_in_mode(channel(count), "pipe");
  PathWithOrigin place = channels.images(channel(0));
  if (count == 1) return place;
  if (!pipes)
    throw UserError("channels " + stem + "_0, " + stem +
                    "_1 … are not pipes, so they cannot be divided among processes; use one "
                    "channel, input mode Pipe, or " +
                    option + " DIR");
  place.path.pop_back();
  place.path += "{0.." + std::to_string(count - 1) + "}";
  place.origin = "channels " + stem + "_0 … " + stem + "_" + std::to_string(count - 1);
  return place;
}

// Returns the training channel of a job without a channel train, training, train_0 or training_0.
// This is the channel with folders for training and validation. If several channels have both, it
// is the one named imagenet, else the one named data. If no channel has both, it is the only
// channel of images besides `val`. Returns "" if there is no candidate. Throws UserError if several
// candidates remain.
std::string other_channel(const Channels& channels, const std::string& val) {
  std::vector<std::string> both, others;
  for (const std::string& name : channels.names()) {
    if (holds_no_images(name) || name == val) continue;
    (holds_both(channels, name) ? both : others).push_back(name);
  }
  for (const char* usual : {"imagenet", "data"}) {
    if (std::find(both.begin(), both.end(), usual) != both.end()) return usual;
  }
  const std::vector<std::string>& candidates = both.empty() ? others : both;
  if (candidates.size() < 2) return candidates.empty() ? "" : candidates[0];
  throw UserError("any of the channels " + joined(candidates) +
                  " could contain the training images; name one of them train, or use --train DIR");
}

// Returns the source of one split. If the channel `name` contains both splits, this is one of
// `folders` in it. Otherwise it is the whole channel or, if `name` ends with _0, all channels of
// the series (…_0, …_1, …).
PathWithOrigin half_of(const Channels& channels, const std::string& name,
                       const std::vector<std::string>& folders, const char* option) {
  if (name.ends_with("_0") && !holds_both(channels, name))
    return numbered(channels, name.substr(0, name.size() - 2), option);
  return channels.images(name, holds_both(channels, name) ? channels.half(name, folders) : "");
}

void find_data(const Channels& channels, Paths& paths) {
  const std::string val =
      first_of(channels, {"validation", "valid", "val", "eval", "test", "validation_0", "val_0"});
  std::string train = first_of(channels, {"train", "training", "train_0", "training_0"});
  if (train.empty()) train = other_channel(channels, val);
  if (!train.empty()) {
    paths.train = half_of(channels, train, kTrainFolders, "--train");
    paths.train_sharded = channels.is_sharded(train);
    if (holds_both(channels, train)) {
      paths.val = half_of(channels, train, kValFolders, "--val");
      paths.val_sharded = paths.train_sharded;
    }
  }
  if (!val.empty()) {
    paths.val = half_of(channels, val, kValFolders, "--val");
    paths.val_sharded = channels.is_sharded(val);
  }
  paths.fast_files = channels.is_in_mode(train, "fastfile") || channels.is_in_mode(val, "fastfile");
}

std::optional<PathWithOrigin> from(const Variables& environment, const char* name) {
  const std::string path = value_of(environment, name);
  return path.empty() ? std::nullopt : std::optional<PathWithOrigin>({path, name});
}

// Returns the LocalPath entry of a configuration file; nothing if the file or the entry is missing.
std::optional<PathWithOrigin> configured(const std::string& base, const char* name,
                                         const Files& files) {
  const std::string path = base + "/input/config/" + name;
  const auto text = files.read(path);
  if (!text) return std::nullopt;  // the job does not use this feature
  const auto json = parse_platform_json(path, *text);
  const auto local = json.find("LocalPath");
  if (local == json.end()) return std::nullopt;
  if (!local->is_string()) throw UserError(path + ": LocalPath must be a string");
  return PathWithOrigin{local->get<std::string>(), name};
}

}  // namespace

Paths find_paths(const Variables& environment, const Files& files, bool with_data) {
  const std::string base = platform_base(environment);
  const bool platform = on_platform(environment, files);
  Paths paths;
  const Channels channels(environment, files, platform);
  for (const std::string& name : channels.names()) {
    if (!holds_no_images(name)) paths.channels.push_back(name);
  }
  if (!channels.named("pretrained").empty()) paths.pretrained = channels.place("pretrained");
  if (with_data) find_data(channels, paths);
  const auto or_base = [&](std::optional<PathWithOrigin> place, const char* folder) {
    if (place || !platform) return place;
    return std::optional<PathWithOrigin>({base + "/" + folder, "SageMaker"});
  };
  const auto configured_or = [&](const char* file, const char* variable, const char* folder) {
    std::optional<PathWithOrigin> place = platform ? configured(base, file, files) : std::nullopt;
    return or_base(place ? place : from(environment, variable), folder);
  };
  paths.checkpoints = configured_or("checkpointconfig.json", "SSM_INSTANCE_STATE", "checkpoints");
  paths.tensorboard =
      configured_or("tensorboardoutputconfig.json", "SSM_TENSORBOARD_DIR", "output/tensorboard");
  paths.output = from(environment, "SM_OUTPUT_DATA_DIR");
  if (!paths.output) paths.output = from(environment, "SSM_OUTPUT");
  paths.output = or_base(paths.output, "output/data");
  paths.model = or_base(from(environment, "SM_MODEL_DIR"), "model");
  paths.cache = from(environment, "SAGEMAKER_MANAGED_WARMPOOL_CACHE_DIRECTORY");
  if (paths.cache) paths.cache->path += "/shoal";
  // The cache must be outside the output folder, because SageMaker uploads that folder.
  if (!paths.cache && platform) {
    const std::string temporary = value_of(environment, "TMPDIR");
    paths.cache =
        PathWithOrigin{(temporary.empty() ? "/tmp" : temporary) + "/shoal-cache", "SageMaker"};
  }
  return paths;
}

}  // namespace shoal::app
