#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "train/report/sinks.h"

namespace shoal::train {
namespace {

constexpr size_t kWidth = 24;  // characters of the bar

std::string clock_time(double seconds) {
  const int64_t s = std::llround(seconds);
  return s >= 3600 ? strf("%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60)
                   : strf("%ld:%02ld", s / 60, s % 60);
}

class TerminalBar final : public ReportSink {
 public:
  explicit TerminalBar(const ResolvedJob& job) : job_(job) {}

  void progress(const TrainingProgress& r) override {
    if (!job_.progress || !log::has_status()) return;
    const auto [share, seconds_left] = job_.time_budget > 0 ? of_time(r) : of_steps(r);
    const auto filled = static_cast<size_t>(share * kWidth);
    log::status(strf(
        "[%s%s] %3.0f%%  epoch %ld  %ld/%ld  %.1f images/s  ETA %s  loss %.3f  acc@1 %.1f%%",
        std::string(filled, '#').c_str(), std::string(kWidth - filled, '.').c_str(), 100 * share,
        r.epoch, r.step_in_epoch, job_.open_ended ? r.step_in_epoch : job_.steps_per_epoch,
        r.images_per_second, clock_time(seconds_left).c_str(), r.epoch_sum.mean_loss(),
        r.epoch_sum.top1_percent()));
  }

  void end(const RunEnd&) override { log::status(""); }

 private:
  struct Done {
    double share = 0, seconds_left = 0;
  };
  Done of_time(const TrainingProgress& r) const {
    const double left = std::max(0.0, job_.time_budget - r.trained_seconds);
    return {1 - left / job_.time_budget, left};
  }
  Done of_steps(const TrainingProgress& r) const {
    const auto last_step = static_cast<double>(std::max<int64_t>(1, job_.last_step));
    const int64_t images_left = (job_.last_step - r.step) * job_.global_batch_size;
    return {std::min(1.0, static_cast<double>(r.step) / last_step),
            r.images_per_second > 0 ? static_cast<double>(images_left) / r.images_per_second : 0};
  }

  const ResolvedJob& job_;
};

}  // namespace

std::unique_ptr<ReportSink> terminal_bar(const ResolvedJob& job) {
  return std::make_unique<TerminalBar>(job);
}

}  // namespace shoal::train
