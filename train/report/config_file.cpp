// config.toml: the settings of the run, for --config.
#include <filesystem>

#include "base/file/whole_file.h"
#include "train/report/sinks.h"

namespace shoal::train {
namespace {

class ConfigFile final : public ReportSink {
 public:
  explicit ConfigFile(const ResolvedJob& job) : job_(job) {}

  void start(const RunStart&) override {
    if (job_.eval_only || job_.provenance.config.empty()) return;
    write_whole(std::filesystem::path(job_.output) / kConfigFile, job_.provenance.config);
  }

 private:
  const ResolvedJob& job_;
};

}  // namespace

std::unique_ptr<ReportSink> config_file(const ResolvedJob& job) {
  return std::make_unique<ConfigFile>(job);
}

}  // namespace shoal::train
