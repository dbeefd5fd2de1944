#include <filesystem>

#include "base/file/whole_file.h"
#include "base/json.h"
#include "train/report/sinks.h"

namespace shoal::train {
namespace {

class ClassesFile final : public ReportSink {
 public:
  explicit ClassesFile(const std::string& output)
      : path_(std::filesystem::path(output) / kClassesFile) {}

  void start(const RunStart& report) override {
    write_whole(path_, classes_json(report.classes) + "\n");
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

std::string classes_json(const std::vector<std::string>& classes) {
  // Does not use ordered_json, because adding a key to it searches all earlier keys.
  std::string text = "{";
  for (size_t label = 0; label < classes.size(); ++label)
    text += (label == 0 ? "\n " : ",\n ") + nlohmann::json(classes[label]).dump() + ": " +
            std::to_string(label);
  return text + "\n}";
}

std::unique_ptr<ReportSink> classes_file(const ResolvedJob& job) {
  return std::make_unique<ClassesFile>(job.output);
}

}  // namespace shoal::train
