// Logs a table of the epochs at the end of a run, with the best one and the locations of the run's
// files.
#include <filesystem>

#include "base/log.h"
#include "train/report/epochs/run_history.h"
#include "train/report/history_file.h"
#include "train/report/sinks.h"

namespace shoal::train {
namespace {

// Whether the folder contains a checkpoint. If a finished run was resumed from another folder,
// there is none, because nothing was left to train.
bool has_checkpoint(const std::string& folder) {
  std::error_code error;  // no folder: no checkpoint
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".pt") return true;
  return false;
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
    if (report.best && has_checkpoint(job_.checkpoint_dir))
      text += "; the best: --checkpoint " + job_.output + "/best";
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
