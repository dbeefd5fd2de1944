// config.toml: the settings of the run, for --config.
#include <exception>
#include <filesystem>

#include "base/file/whole_file.h"
#include "base/log.h"
#include "train/report/sinks.h"

namespace shoal::train {
namespace {

class ConfigFile final : public ReportSink {
 public:
  explicit ConfigFile(const ResolvedJob& job)
      : job_(job), path_(std::filesystem::path(job.output) / kConfigFile) {}

  // If a resumed run has nothing left to train, keeps the existing file: the weights were trained
  // with the settings in it. Other resumed runs replace the file at their first step or evaluation.
  void start(const RunStart& report) override {
    if (job_.eval_only || job_.provenance.config.empty()) return;
    std::error_code none;
    due_ = report.step > 0 && std::filesystem::exists(path_, none);
    if (!due_) write_whole(path_, job_.provenance.config);
  }
  void progress(const TrainingProgress&) override { write_if_due(); }
  void evaluation(const EvaluationReport&) override { write_if_due(); }

 private:
  void write_if_due() {
    if (!due_) return;
    due_ = false;
    try {
      write_whole(path_, job_.provenance.config);
    } catch (const std::exception& error) {  // a failed write must not end the training
      log::warning(error.what());
    }
  }

  const ResolvedJob& job_;
  const std::filesystem::path path_;
  bool due_ = false;  // whether the next step or evaluation writes the file
};

}  // namespace

std::unique_ptr<ReportSink> config_file(const ResolvedJob& job) {
  return std::make_unique<ConfigFile>(job);
}

}  // namespace shoal::train
