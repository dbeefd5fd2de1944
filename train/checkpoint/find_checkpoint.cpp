#include "train/checkpoint/find_checkpoint.h"

#include <algorithm>

#include "base/file/folder.h"
#include "base/log.h"
#include "base/nearest.h"
#include "dist/gather.h"
#include "train/checkpoint/imagenet_example.h"
#include "train/report/sinks.h"
#include "train/weights/weights_file.h"

namespace shoal::train {
namespace fs = std::filesystem;

namespace {

fs::path without_slash(fs::path path) {
  return path.has_filename() ? path : path.parent_path();  // treats "dir/" like "dir"
}

// Returns the sorted names beside `place` for which `accept` returns true.
std::vector<std::string> names_beside(const fs::path& place,
                                      const std::function<bool(const fs::path&)>& accept) {
  std::vector<fs::directory_entry> entries;
  try {
    entries = entries_of(fs::absolute(place).parent_path());
  } catch (const std::system_error&) {
    return {};  // the caller's message is then printed without a suggestion
  }
  std::vector<std::string> names;
  for (const auto& entry : entries) {
    try {
      if (accept(entry.path())) names.push_back(entry.path().filename().string());
    } catch (const std::system_error&) {  // unreadable, such as another user's folder
    }
  }
  std::ranges::sort(names);
  return names;
}

// Returns the path beside `place` whose name is similar and for which `accept` returns true; empty
// if there is none.
fs::path similar_path(fs::path place, const std::function<bool(const fs::path&)>& accept) {
  place = without_slash(std::move(place));
  const std::string near = nearest(place.filename().string(), names_beside(place, accept));
  return near.empty() ? fs::path() : place.parent_path() / near;
}

// `place`: folder in which --resume found no checkpoint. If folders beside it have checkpoints,
// returns advice that names the one with a similar name or, if there is none, the first ones;
// otherwise "".
std::string other_folders(fs::path place, const char* option) {
  constexpr size_t kMost = 3;
  place = without_slash(std::move(place));
  std::vector<std::string> names = names_beside(place, [](const fs::path& path) {
    return fs::is_directory(path) && !store_in(path).names().empty();
  });
  if (names.empty()) return "";
  const auto beside = [&](const std::string& name) {
    return (place.parent_path() / name).string();
  };
  if (const std::string near = nearest(place.filename().string(), names); !near.empty())
    return "; " + beside(near) + " contains checkpoints: did you mean " + option + " " +
           beside(near) + "?";
  const bool more = names.size() > kMost;
  names.resize(std::min(names.size(), kMost));
  for (std::string& name : names) name = beside(name);
  return "; these folders beside it contain checkpoints: " + joined(names) + (more ? ", …" : "");
}

// `missing`: the path of --resume. Returns advice that names a similar path: a file with a similar
// name in the same folder, or with the same name in a similarly named folder; otherwise "".
std::string similar_file(const fs::path& missing) {
  const auto is_file = [](const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error);
  };
  fs::path found = similar_path(missing, is_file);
  if (found.empty() && missing.has_parent_path()) {
    const fs::path name = missing.filename();
    found = similar_path(missing.parent_path(),
                         [&](const fs::path& folder) { return is_file(folder / name); });
    if (!found.empty()) found /= name;
  }
  return found.empty() ? "" : "; did you mean --resume " + found.string() + "?";
}

// Logs that a new run starts because --resume found no checkpoint. Throws UserError if the earlier
// start saved its checkpoints elsewhere. `missing`: the path of --resume, if that path does not
// exist. The message is a warning, except in a SageMaker container, where every start has --resume.
void report_fresh_start(const Job& job, const CheckpointStore& store,
                        const fs::path& missing = {}) {
  const std::string reason = missing.empty() ? "no checkpoint found"
                                             : "--resume " + missing.string() +
                                                   " does not exist, and there is no checkpoint";
  const std::string text = reason + " in '" + store.directory().string() +
                           "': this is a new run, with the settings given now";
  if (job.on_platform) return log::info(text);
  const fs::path earlier = job.checkpoint_dir ? fs::path() : stored_checkpoint_dir(job.output);
  if (!earlier.empty())
    throw UserError(reason + " in '" + store.directory().string() + "', but the earlier start in " +
                    job.output + " saved its checkpoints in " + earlier.string() +
                    "; add --checkpoint-dir " + earlier.string());
  if (const std::string advice = missing.empty() ? "" : similar_file(missing); !advice.empty())
    return log::warning(text + advice);
  const fs::path settings = fs::path(job.output) / kConfigFile;
  std::error_code error;
  if (fs::exists(settings, error))
    return log::warning(text + "; " + settings.string() +
                        " has those of the earlier start (--config)");
  const bool chosen = job.checkpoint_dir.has_value();
  log::warning(text + (chosen ? other_folders(*job.checkpoint_dir, "--checkpoint-dir")
                              : other_folders(job.output, "--output")));
}

Located look(const Job& job, const CheckpointStore& store) {
  Located found{{}, "fresh start"};
  const auto from = [&](const CheckpointStore& place) {
    auto newest = place.newest_good(log::warning);
    if (!newest) return false;
    found = {std::move(newest->second), place.path(newest->first).string()};
    return true;
  };
  if (!job.resume && job.resume_path.empty()) return found;
  // SageMaker repeats the command after an interruption. If the job has checkpoints by then, it
  // continues from those, not from PATH.
  const bool ignore_path = job.on_platform && !store.names().empty();
  const auto [path, directory, best] = parse_checkpoint_path(ignore_path ? "" : job.resume_path);
  const std::string in_directory = "--resume " + path.string() + ": the directory contains no ";
  if (path.empty()) {
    if (!from(store)) report_fresh_start(job, store);
  } else if (best) {
    const CheckpointStore run = store_in(directory);
    const auto entry = run.best();
    require(entry.has_value(), in_directory + "evaluated checkpoint; use last for the newest one");
    found = {run.read(*entry), run.path(*entry).string()};
  } else if (!directory.empty()) {
    require(from(store_in(directory)),
            in_directory + "checkpoint; choose another one or omit the path");
  } else if (fs::exists(path)) {
    found = {read_checked(path), path.string()};
    if (found.bytes.empty())
      throw UserError("--resume " + path.string() + " is empty; choose another checkpoint");
  } else if (path.filename() == "checkpoint.pth.tar") {
    if (from(store))
      log::warning("--resume " + path.string() + " does not exist; continuing from " + found.file +
                   similar_file(path));
    else
      report_fresh_start(job, store, path);
  } else {
    throw UserError("--resume " + path.string() + ": no such file or directory" +
                    similar_file(path));
  }
  return found;
}

void broadcast(const dist::Group& group, Located& located) {
  dist::broadcast_bytes(group, located.bytes);
  dist::broadcast_text(group, located.file);
}

// Parses the state of a run of shoal or of PyTorch's imagenet example, for --resume. Throws
// UserError if the file contains only weights.
CheckpointData read_state(const std::vector<char>& bytes, const std::string& file) {
  std::string reason, contents;
  try {
    return read_checkpoint(bytes, file);
  } catch (const std::runtime_error& error) {
    reason = error.what();
  }
  try {
    if (auto data = read_imagenet_example(bytes, file)) return *data;
    contents = read_weights(bytes, file).contents();
  } catch (const UserError&) {
    throw;
  } catch (const std::runtime_error&) {
    throw std::runtime_error("--resume: " + reason);
  }
  throw UserError("--resume: " + file + " contains only weights (" + contents +
                  "), not the state of a run; to start from them, use --weights " + file);
}

std::string path_of(const std::string& weights, const LocalPath& local_path) {
  return local_path ? local_path(weights) : weights;
}

}  // namespace

Start find_start(const Job& job, const dist::Group& group, const LocalPath& local_path) {
  Start start;
  Located checkpoint, weights;
  dist::on_rank_0(group, [&] {
    const CheckpointStore store = checkpoint_store(checkpoint_directory(job), job.keep);
    start.seen = store.names();
    checkpoint = look(job, store);
    if (checkpoint.bytes.empty() && !job.weights.empty())
      weights = locate_weights(path_of(job.weights, local_path), "--weights");
  });
  broadcast(group, checkpoint);
  broadcast(group, weights);
  start.origin = checkpoint.file;
  if (!weights.bytes.empty()) {
    OpenedCheckpoint opened = read_weights(weights.bytes, weights.file, job.weights_entry);
    if (!opened.warning.empty() && group.rank() == 0)
      log::warning("--weights " + opened.file + ": " + opened.warning);
    start.origin = opened.origin();
    start.weights = std::move(opened.data);
    start.weights_file = std::move(opened.file);
  }
  if (checkpoint.bytes.empty() && job.eval_only && !start.weights)
    throw UserError(
        job.resume ? "--eval-only needs weights, and there are none in " +
                         checkpoint_directory(job) + "; use --resume PATH"
                   : "--eval-only needs weights: add --resume, --resume PATH or --weights PATH");
  if (checkpoint.bytes.empty()) return start;
  start.data = read_state(checkpoint.bytes, checkpoint.file);
  start.file = checkpoint.file;
  start.origin += strf(", epoch %ld", start.data->integer("epoch"));
  if (!is_imagenet_example(*start.data))
    start.origin += strf(", step %ld", start.data->integer("step"));
  return start;
}

namespace {

// Whether `store` has no checkpoints or the run continues from one of them.
bool is_own(const CheckpointStore& store, const Start& start) {
  std::error_code error;
  return store.names().empty() ||
         (!start.file.empty() &&
          fs::equivalent(fs::absolute(start.file).parent_path(), store.directory(), error));
}

}  // namespace

void require_own(const CheckpointStore& store, const Start& start) {
  if (is_own(store, start)) return;
  const bool other = !start.file.empty();
  throw UserError(store.directory().string() + " contains checkpoints of " +
                  (other ? "another run than " + start.file : "an earlier run") +
                  " (the newest is " + store.names().front() +
                  "); continue that run with --resume" + (other ? " without a path" : "") +
                  ", or choose another folder with --output or --checkpoint-dir");
}

void require_own_folder(const Job& job, const Start& start, const dist::Group& group) {
  dist::on_rank_0(group, [&] {
    const CheckpointStore store = checkpoint_store(checkpoint_directory(job), job.keep);
    // First checks whether another run is still using the folder: the message of require_own()
    // would advise the user to continue that run.
    if (!is_own(store, start)) store.require_unlocked();
    require_own(store, start);
  });
}

std::optional<OpenedCheckpoint> checkpoint_before(int64_t step, const CheckpointStore& store,
                                                  dist::Group& group) {
  Located located;
  dist::on_rank_0(group, [&] {
    auto found = store.newest_good(log::warning, step);
    if (found) located = {std::move(found->second), store.path(found->first).string()};
  });
  broadcast(group, located);
  if (located.bytes.empty()) return std::nullopt;
  return OpenedCheckpoint{read_checkpoint(located.bytes, located.file), located.file, ""};
}

OpenedCheckpoint open_checkpoint(const std::string& text, const dist::Group& group) {
  Located located;
  dist::on_rank_0(group, [&] { located = locate_weights(text, "--checkpoint"); });
  broadcast(group, located);
  OpenedCheckpoint opened = read_weights(located.bytes, located.file);
  if (!opened.is_ours())
    throw UserError("--checkpoint: " + located.file + " contains only weights (" +
                    opened.contents() + "), not a checkpoint or model of shoal; use --weights " +
                    located.file);
  return opened;
}

OpenedCheckpoint open_weights(const std::string& weights, const std::string& entry,
                              const dist::Group& group, const LocalPath& local_path) {
  Located located;
  dist::on_rank_0(group,
                  [&] { located = locate_weights(path_of(weights, local_path), "--weights"); });
  broadcast(group, located);
  return read_weights(located.bytes, located.file, entry);
}

}  // namespace shoal::train
