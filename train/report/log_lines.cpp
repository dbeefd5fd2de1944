#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "ops/places.h"
#include "train/report/sinks.h"

namespace shoal::train {
namespace {

int digits(int64_t value) {
  return static_cast<int>(std::to_string(value).size());
}

std::string valid_line(const EvaluationReport& r) {
  const char* key = r.ema ? "ema_" : "";
  std::string line;
  if (std::isfinite(r.sum.loss)) line = strf("valid:%sloss=%.6f; ", key, r.sum.mean_loss());
  line += strf("valid:%sacc1=%.6f; valid:%sacc5=%.6f; ", key, r.sum.top1_percent(), key,
               r.sum.top5_percent());
  if (!r.ema)
    line += strf("valid:images_per_sec=%.6f; valid:images=%.0f; ",
                 r.sum.images / std::max(r.seconds, 1e-9), r.sum.images);
  return line + strf("epoch=%ld; step=%ld;", r.epoch, r.step);
}

class LogLines final : public ReportSink {
 public:
  explicit LogLines(const ResolvedJob& job) : job_(job) {}

  void start(const RunStart& report) override {
    log::info_lines(start_block(job_, report.origin, report.kernels) + "\n" +
                    settings_block(job_, /*all=*/false));
    if (job_.model.classes < ops::kTop5) log::info(top5_note(job_.model.classes));
  }

  void step(const StepReport& report) override {
    log::line(imagenet_line(report));
    log::line(key_value_line(report));
  }

  void utilization(const UtilizationReport& report) override {
    log::line(utilization_line(report));
  }

  void event(const Event& report) override {
    std::string line = "event=" + report.name + "; ";
    for (const auto& [key, value] : report.values) line += strf("%s=%.9g; ", key.c_str(), value);
    log::line(line + strf("step=%ld;", report.step));
  }

  void evaluation_progress(const EvaluationProgress& report) override {
    log::line(imagenet_test_line(report));
  }

  void evaluation(const EvaluationReport& r) override {
    if (r.sum.skipped > 0)
      log::warning(
          strf("%.0f of %.0f validation images could not be read; accuracy is over the other %.0f",
               r.sum.skipped, r.sum.images + r.sum.skipped, r.sum.images));
    log::line(strf(" * %sAcc@1 %.3f Acc@5 %.3f", r.ema ? "EMA " : "", r.sum.top1_percent(),
                   r.sum.top5_percent()));
    log::line(valid_line(r));
  }

  void end(const RunEnd& report) override {
    if (report.outcome == "failed") return;
    const LoaderWait& wait = report.wait;
    const double share = wait.data_seconds / std::max(wait.seconds, 1e-9);
    if (wait.steps > 0)
      log::info(strf("%ld of %ld steps waited for images, %.1f %% of the training time%s",
                     wait.waited, wait.steps, 100 * share,
                     share > 0.1 ? "; run `shoal bench loader` to find the bottleneck" : ""));
    log::line(strf("Total time: %.0f seconds", report.seconds));
  }

 private:
  const ResolvedJob& job_;
};

}  // namespace

std::string imagenet_line(const StepReport& r) {
  return strf(
      "Epoch: [%ld][%*ld/%ld]\tTime %6.3f (%6.3f)\tData %6.3f (%6.3f)\tLoss %.4e (%.4e)\tAcc@1 "
      "%6.2f (%6.2f)\tAcc@5 %6.2f (%6.2f)",
      r.epoch, digits(r.steps_per_epoch), r.step_in_epoch, r.steps_per_epoch, r.step_seconds,
      r.step_seconds_average, r.data_seconds, r.data_seconds_average, r.last.mean_loss(),
      r.epoch_sum.mean_loss(), r.last.top1_percent(), r.epoch_sum.top1_percent(),
      r.last.top5_percent(), r.epoch_sum.top5_percent());
}

std::string key_value_line(const StepReport& r) {
  std::string line = strf(
      "train:loss=%.6f; train:acc1=%.6f; train:acc5=%.6f; train:lr=%.6e; "
      "train:images_per_sec=%.6f; "
      "train:step_time=%.6f; train:data_time=%.6f; ",
      r.last.mean_loss(), r.last.top1_percent(), r.last.top5_percent(), r.lr, r.images_per_second,
      r.step_seconds, r.data_seconds);
  if (std::isfinite(r.gradient_norm)) line += strf("train:grad_norm=%.6f; ", r.gradient_norm);
  return line + strf("epoch=%ld; step=%ld;", r.epoch, r.step);
}

std::string utilization_line(const UtilizationReport& r) {
  std::string line;
  for (const auto& [name, value] : r.values) line += strf("util:%s=%.6f; ", name.c_str(), value);
  return line + strf("epoch=%ld; step=%ld;", r.epoch, r.step);
}

std::string imagenet_test_line(const EvaluationProgress& r) {
  return strf(
      "Test: [%*ld/%ld]\tTime %6.3f (%6.3f)\tLoss %.4e (%.4e)\tAcc@1 %6.2f (%6.2f)\tAcc@5 %6.2f "
      "(%6.2f)",
      digits(r.batches), r.batch, r.batches, r.seconds, r.seconds_average, r.last.mean_loss(),
      r.sum.mean_loss(), r.last.top1_percent(), r.sum.top1_percent(), r.last.top5_percent(),
      r.sum.top5_percent());
}

std::unique_ptr<ReportSink> log_lines(const ResolvedJob& job) {
  return std::make_unique<LogLines>(job);
}

}  // namespace shoal::train
