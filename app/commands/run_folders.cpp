#include "app/commands/run_folders.h"

#include <filesystem>

#include "app/commands/local/run_list.h"
#include "base/file/folder.h"
#include "base/file/writable.h"
#include "base/log.h"
#include "dist/gather.h"
#include "train/report/sinks.h"
#include "train/weights/model_file.h"

namespace shoal::app {
namespace {

// Returns the options that name output folders, each with its folder ("": not written).
std::vector<std::pair<const char*, std::string>> written_folders(const train::Job& job) {
  if (job.eval_only) return {{"--output", job.output}};
  return {{"--output", job.output},
          {"--checkpoint-dir", train::checkpoint_directory(job)},
          {"--export-dir", job.export_dir.value_or("")},
          {"--tensorboard", job.tensorboard == "none" ? "" : job.tensorboard}};
}

// Throws UserError if --export-dir is inside the folder of another run, for example because
// --config reads the config.toml of that run, which contains its --export-dir.
void check_export_folder(const train::Job& job) {
  namespace fs = std::filesystem;
  if (job.eval_only || !job.export_dir || job.export_dir->empty()) return;
  std::error_code none;
  if (!job.resume && fs::exists(fs::path(*job.export_dir) / train::kModelFile, none))
    log::warning("--export-dir " + *job.export_dir +
                 " contains a model; the model of this run will replace it");
  // The search stops at this run's own two folders: each has a history, so it looks like a run.
  const fs::path output = real_path(job.output),
                 checkpoints = real_path(train::checkpoint_directory(job));
  for (fs::path folder = real_path(*job.export_dir);
       folder.has_relative_path() && folder != output && folder != checkpoints;
       folder = folder.parent_path())
    if (has_run_results(folder))
      throw UserError("--export-dir " + *job.export_dir + " is inside the folder of another run, " +
                      folder.string() + "; use --export-dir " +
                      (fs::path(job.output) / "model").string());
}

}  // namespace

void check_run_folders(const train::Job& job, const DataPlaces& places, const dist::Group& group) {
  namespace fs = std::filesystem;
  dist::on_rank_0(group, [&] {
    for (const auto& [option, path] : written_folders(job))
      if (!path.empty()) require_writable_folder(option, path);
    check_export_folder(job);
  });
  std::error_code none;
  for (const Split* split : {&places.train, &places.val}) {
    if (!fs::is_directory(split->location.text, none)) continue;
    for (const auto& [option, path] : written_folders(job))
      if (!path.empty() && is_inside(path, split->location.text))
        throw UserError(std::string(option) + " " + path + " is inside the images in " +
                        split->location.text + "; choose a folder outside");
  }
  const bool same = places.train.found() && places.val.found() && job.val_split == 0 &&
                    places.train.location.split == places.val.location.split &&
                    fs::equivalent(places.train.location.text, places.val.location.text, none);
  if (same && group.rank() == 0 && !job.eval_only)
    log::warning("the validation images are the training images: " + places.val.location.text);
}

void require_no_run(const std::string& images) {
  std::error_code none;
  if (has_run_results(images) &&
      std::filesystem::is_regular_file(std::filesystem::path(images) / train::kConfigFile, none))
    throw UserError(images + " is the folder of a run, not images; name the images instead");
}

}  // namespace shoal::app
