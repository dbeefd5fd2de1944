// Logs a table of the epochs at the end of a run, with the best one and the locations of the run's
// files.
#include <filesystem>

#include "base/file/folder.h"
#include "base/log.h"
#include "train/report/epochs/run_history.h"
#include "train/report/history_file.h"
#include "train/report/sinks.h"

namespace shoal::train {
namespace fs = std::filesystem;
namespace {

// Whether the folder contains a checkpoint of the run. If a finished run was resumed from another
// folder, there is none, because nothing was left to train. Files that are set aside, such as
// superseded-….pt, do not count.
bool has_checkpoint(const fs::path& folder) {
  std::error_code error;  // ignored: a missing folder has no checkpoint
  for (const auto& entry : entries_of(folder, error))
    if (entry.path().extension() == ".pt" && entry.path().filename().string().starts_with("epoch-"))
      return true;
  return false;
}

// Returns the folder for the printed --checkpoint path: the output folder if the checkpoints are in
// its subfolder, otherwise the checkpoint folder.
fs::path folder_of_best(const ResolvedJob& job) {
  const fs::path output = job.output, checkpoints = job.checkpoint_dir;
  return checkpoints == output / kCheckpointsFolder ? output : checkpoints;
}

class RunTable final : public ReportSink {
 public:
  RunTable(const ResolvedJob& job, const HistoryFile& history) : job_(job), history_(history) {}

  void end(const RunEnd& report) override {
    if (job_.eval_only || report.outcome == "failed") return;
    const std::vector<EpochValues> epochs = read_history(history_.text()).epochs;
    if (epochs.empty()) return;
    std::string text = epoch_table_text(epochs) + "\noutput       " + job_.output;
    text += "\ncheckpoints  " + job_.checkpoint_dir;
    // On SageMaker, omits the best checkpoint's path: the container does not outlast the run.
    if (report.best && !job_.on_platform && has_checkpoint(job_.checkpoint_dir))
      text += "; the best: --checkpoint " + (folder_of_best(job_) / "best").string();
    if (report.exported) text += "\nexported     " + report.exported->file;
    log::info_lines("epochs\n" + text);
  }

 private:
  const ResolvedJob& job_;
  const HistoryFile& history_;
};

}  // namespace

std::unique_ptr<ReportSink> run_table(const ResolvedJob& job, const HistoryFile& history) {
  return std::make_unique<RunTable>(job, history);
}

}  // namespace shoal::train
