#include "train/resume.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <torch/version.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "train/log.h"

namespace shoal::train {
namespace fs = std::filesystem;

CheckpointData snapshot(const Trainer& trainer, const Position& position, const ResolvedJob& job,
                        const std::vector<std::string>& classes) {
  CheckpointData data;
  trainer.save(data);
  data.integers["epoch"] = position.epoch;
  data.integers["step_in_epoch"] = position.step_in_epoch;
  data.integers["step"] = position.step;
  data.integers["samples"] = position.step * job.global_batch_size;
  data.integers["non_finite"] = position.non_finite;
  data.integers["non_finite_in_a_row"] = position.non_finite_in_a_row;
  data.integers["history_lines"] = position.history_lines;
  data.integers["evaluation_pending"] = position.evaluation_pending;
  data.integers["world_size"] = job.world_size;
  data.integers["threads"] = job.threads;
  data.integers["val_size"] = job.eval_size;
  data.integers["val_resize"] = job.eval_resize;
  data.integers["classes"] = job.job.model.classes;
  const auto sum = position.epoch_sum.values();
  for (size_t i = 0; i < sum.size(); ++i) data.numbers["epoch_sum_" + std::to_string(i)] = sum[i];
  if (position.best_top1) data.numbers["best_top1"] = *position.best_top1;
  data.text["arch"] = job.job.model.name;
  data.text["interpolation"] =
      job.transform.interpolation == data::Interpolation::bicubic ? "bicubic" : "bilinear";
  data.text["kernels"] = ops::cpu().name;
  data.text["torch"] = TORCH_VERSION;
  data.classes = classes;
  data.settings = job.settings();
  return data;
}

namespace {

// Rank 0's findings: the file's bytes, or what to say.
struct Found {
  std::vector<char> bytes;
  std::string origin = "fresh start";
  std::string user_error, failure;
};

// The checkpoints of `directory`, which may be a run's output folder too.
CheckpointStore store_in(const fs::path& directory) {
  CheckpointStore store(directory, 1);
  if (!store.entries().empty()) return store;
  return CheckpointStore(directory / "checkpoints", 1);
}

Found look(const Job& job, const CheckpointStore& store) {
  Found found;
  const auto warn = [](const std::string& text) { log::warning(text); };
  const auto from = [&](const CheckpointStore& place) {
    const auto newest = place.newest_good(warn);
    if (!newest) return false;
    found.bytes = newest->second;
    found.origin = place.path(newest->first).string();
    return true;
  };
  if (!job.resume && job.resume_path.empty()) {
    if (job.eval_only) return found;
    const auto existing = store.entries();
    if (!existing.empty()) {
      found.user_error =
          store.directory().string() + " holds checkpoints of an earlier run (the newest is " +
          existing.front().name + "); continue it with --resume, or choose another --output";
    }
    return found;
  }
  const fs::path path = job.resume_path;
  if (path.empty()) {
    if (!from(store))
      log::info("=> no checkpoint found in '" + store.directory().string() + "': a fresh start");
  } else if (fs::is_directory(path)) {
    if (!from(store_in(path))) {
      found.user_error = "--resume " + path.string() +
                         ": the directory holds no checkpoint; name another or leave the path out";
    }
  } else if (fs::exists(path)) {
    found.bytes = read_checked(path);
    found.origin = path.string();
  } else if (path.filename() == "checkpoint.pth.tar") {
    if (!from(store)) log::info("=> no checkpoint found at '" + path.string() + "': a fresh start");
  } else {
    found.user_error = "--resume " + path.string() + ": there is no such file or directory";
  }
  return found;
}

void broadcast_text(dist::Group& group, std::vector<char>& bytes) {
  at::Tensor size = at::tensor(static_cast<int64_t>(bytes.size()));
  group.broadcast(size, 0);
  const auto count = size.item<int64_t>();
  if (count == 0) return bytes.clear();
  at::Tensor data = at::empty({count}, at::kByte);
  if (group.rank() == 0) std::memcpy(data.mutable_data_ptr(), bytes.data(), bytes.size());
  group.broadcast(data, 0);
  bytes.resize(static_cast<size_t>(count));
  std::memcpy(bytes.data(), data.const_data_ptr(), bytes.size());
}

void broadcast_text(dist::Group& group, std::string& text) {
  std::vector<char> bytes(text.begin(), text.end());
  broadcast_text(group, bytes);
  text.assign(bytes.begin(), bytes.end());
}

}  // namespace

Start find_start(const Job& job, dist::Group& group) {
  Found found;
  if (group.rank() == 0) {
    try {
      found = look(job, CheckpointStore(checkpoint_directory(job), job.keep));
    } catch (const std::exception& error) {
      found.failure = error.what();
    }
  }
  broadcast_text(group, found.user_error);
  broadcast_text(group, found.failure);
  broadcast_text(group, found.origin);
  broadcast_text(group, found.bytes);
  if (!found.user_error.empty()) throw UserError(found.user_error);
  if (!found.failure.empty()) throw std::runtime_error(found.failure);
  Start start;
  start.origin = found.origin;
  if (found.bytes.empty() && job.eval_only)
    throw UserError(job.resume ? "--eval-only needs weights, and there are none in " +
                                     checkpoint_directory(job) + "; say where with --resume PATH"
                               : "--eval-only needs weights: add --resume, or --resume PATH");
  if (found.bytes.empty()) return start;
  start.data = read_checkpoint(found.bytes, found.origin);
  start.origin +=
      strf(", epoch %lld, update %lld", static_cast<long long>(start.data->integer("epoch")),
           static_cast<long long>(start.data->integer("step")));
  return start;
}

namespace {

// A zip file begins like this; every checkpoint is one.
bool is_archive(const std::vector<char>& bytes) {
  return bytes.size() > 4 && std::memcmp(bytes.data(), "PK\3\4", 4) == 0;
}

}  // namespace

OpenedCheckpoint open_checkpoint(const std::string& text) {
  if (text.empty())
    throw UserError("--checkpoint is missing: the file or directory of the weights");
  fs::path path = text;
  if (!path.has_filename()) path = path.parent_path();  // "dir/" and "dir" are the same
  const bool best = path.filename() == "best";
  const bool named = !fs::exists(path) && (best || path.filename() == "last");
  const fs::path directory = named ? path.parent_path() : path;
  if (named ? fs::is_directory(directory) || directory.empty() : fs::is_directory(path)) {
    const CheckpointStore store = store_in(directory.empty() ? "." : directory);
    if (const auto entry = store.best(); best && entry) {
      const std::string file = store.path(*entry).string();
      return {read_checkpoint(store.read(*entry), file), file};
    }
    const auto newest = store.newest_good([](const std::string& what) { log::warning(what); });
    if (!newest) throw UserError("--checkpoint " + text + ": the directory holds no checkpoint");
    if (best) log::warning("no checkpoint was evaluated yet: the newest stands for the best");
    const std::string file = store.path(newest->first).string();
    return {read_checkpoint(newest->second, file), file};
  }
  if (!fs::exists(path))
    throw UserError("--checkpoint " + text + ": there is no such file or directory");
  const std::vector<char> bytes = read_checked(path);
  if (!is_archive(bytes))
    throw UserError("--checkpoint " + text +
                    " is not a checkpoint (it is no zip archive); name a " +
                    "file that shoal train has written, or its output folder");
  return {read_checkpoint(bytes, path.string()), path.string()};
}

namespace {

// Settings without which "the same run, continued" has no meaning.
const char* const kFixed[] = {"model",      "classes", "train_images", "global_batch_size",
                              "accumulate", "seed",    "optimizer"};
// Of these, the ones that evaluation needs too.
const char* const kFixedForEvaluation[] = {"model", "classes"};

bool holds(std::span<const char* const> names, const std::string& name) {
  return std::any_of(names.begin(), names.end(), [&](const char* one) { return name == one; });
}

void compare_settings(const CheckpointData& data, const ResolvedJob& job,
                      const std::function<void(const std::string&)>& warn) {
  std::string changed;
  const auto now = job.settings();
  for (const auto& [name, was] : data.settings) {
    const auto it = std::find_if(now.begin(), now.end(),
                                 [&](const auto& entry) { return entry.first == name; });
    if (it == now.end() || it->second == was) continue;
    if (job.job.eval_only && !holds(kFixedForEvaluation, name)) continue;
    if (holds(kFixed, name)) {
      std::string advice = "give the setting it was made with, or start anew in another --output";
      if (name == "global_batch_size") {
        advice = "add --global-batch-size " + was +
                 " (any world size that divides it continues the same run)";
      }
      throw UserError("the checkpoint was made with " + name + " " + was + ", this run has " +
                      it->second + "; " + advice);
    }
    changed += (changed.empty() ? "" : ", ") + name + " " + was + " → " + it->second;
  }
  if (!changed.empty()) warn("continuing with other settings than the checkpoint's: " + changed);
  const bool same =
      data.integer("world_size") == job.world_size && data.integer("threads") == job.threads &&
      data.string("kernels") == ops::cpu().name && data.string("torch") == TORCH_VERSION;
  if (!same) {
    warn(
        strf("the checkpoint was made with %lld process(es) of %lld thread(s), %s kernels, torch "
             "%s; the same pictures follow "
             "in the same order, but results may differ in the last bits",
             static_cast<long long>(data.integer("world_size")),
             static_cast<long long>(data.integer("threads")), data.string("kernels").c_str(),
             data.string("torch").c_str()));
  }
}

}  // namespace

Position restore(Trainer& trainer, const CheckpointData& data, const ResolvedJob& job,
                 const std::function<void(const std::string&)>& warn) {
  compare_settings(data, job, warn);
  trainer.load(data, job.job.eval_only);
  Position position;
  position.epoch = data.integer("epoch");
  position.step_in_epoch = data.integer("step_in_epoch");
  position.step = data.integer("step");
  position.non_finite = data.integer("non_finite");
  position.non_finite_in_a_row = data.integer("non_finite_in_a_row");
  position.history_lines = data.integer("history_lines");
  position.evaluation_pending = data.integer("evaluation_pending") != 0;
  double sum[Meter::kValues];
  for (int i = 0; i < Meter::kValues; ++i) sum[i] = data.number("epoch_sum_" + std::to_string(i));
  position.epoch_sum = Meter::from(sum);
  if (data.numbers.count("best_top1")) position.best_top1 = data.number("best_top1");
  return position;
}

}  // namespace shoal::train
