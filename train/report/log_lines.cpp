#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/log.h"
#include "base/text.h"
#include "base/whole_file.h"
#include "ops/places.h"
#include "train/report/report.h"

namespace shoal::train {
namespace {

using Json = nlohmann::ordered_json;

int digits(int64_t value) {
  return static_cast<int>(std::to_string(value).size());
}

std::string clock_time(double seconds) {
  const auto s = static_cast<long long>(std::llround(seconds));
  return s >= 3600 ? strf("%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60)
                   : strf("%lld:%02lld", s / 60, s % 60);
}

struct Lines {
  std::string text;
  int64_t count = 0;
};

// At most the first `most` of a file; none where there is no file.
Lines first_lines(const std::filesystem::path& path, int64_t most) {
  Lines lines;
  std::ifstream in(path);
  for (std::string line; lines.count < most && std::getline(in, line); ++lines.count)
    lines.text += line + "\n";
  return lines;
}

}  // namespace

std::string imagenet_line(const StepReport& r) {
  return strf(
      "Epoch: [%lld][%*lld/%lld]\tTime %6.3f (%6.3f)\tData %6.3f (%6.3f)\tLoss %.4e (%.4e)\tAcc@1 "
      "%6.2f (%6.2f)\tAcc@5 %6.2f (%6.2f)",
      static_cast<long long>(r.epoch), digits(r.steps_per_epoch),
      static_cast<long long>(r.step_in_epoch), static_cast<long long>(r.steps_per_epoch),
      r.step_seconds, r.step_seconds_average, r.data_seconds, r.data_seconds_average,
      r.last.mean_loss(), r.epoch_sum.mean_loss(), r.last.top1_percent(),
      r.epoch_sum.top1_percent(), r.last.top5_percent(), r.epoch_sum.top5_percent());
}

std::string key_value_line(const StepReport& r) {
  std::string line = strf(
      "train:loss=%.6f; train:acc1=%.6f; train:acc5=%.6f; train:lr=%.6e; "
      "train:images_per_sec=%.6f; "
      "train:step_time=%.6f; train:data_time=%.6f; ",
      r.last.mean_loss(), r.last.top1_percent(), r.last.top5_percent(), r.lr, r.images_per_second,
      r.step_seconds, r.data_seconds);
  if (std::isfinite(r.gradient_norm)) line += strf("train:grad_norm=%.6f; ", r.gradient_norm);
  return line + strf("epoch=%lld; step=%lld;", static_cast<long long>(r.epoch),
                     static_cast<long long>(r.step));
}

std::string imagenet_test_line(int64_t batch, int64_t batches, double seconds,
                               double seconds_average, const Meter& last, const Meter& sum) {
  return strf(
      "Test: [%*lld/%lld]\tTime %6.3f (%6.3f)\tLoss %.4e (%.4e)\tAcc@1 %6.2f (%6.2f)\tAcc@5 %6.2f "
      "(%6.2f)",
      digits(batches), static_cast<long long>(batch), static_cast<long long>(batches), seconds,
      seconds_average, last.mean_loss(), sum.mean_loss(), last.top1_percent(), sum.top1_percent(),
      last.top5_percent(), sum.top5_percent());
}

std::string top5_note(int64_t classes) {
  return strf("with %lld classes, fewer than 5, Acc@5 counts every image as right",
              static_cast<long long>(classes));
}

std::string classes_json(const std::vector<std::string>& classes) {
  Json map;
  for (size_t label = 0; label < classes.size(); ++label) map[classes[label]] = label;
  return map.dump(1);
}

Reporter::Reporter(const ResolvedJob& job, int64_t rank, int64_t keep_lines)
    : job_(job), on_(rank == 0), output_(job.output), started_(utc_time()) {
  if (!on_) return;
  const auto path = output_ / kHistoryFile;
  std::error_code error;
  std::filesystem::create_directories(output_, error);
  if (job.eval_only) keep_lines = std::numeric_limits<int64_t>::max();
  Lines kept = first_lines(path, keep_lines);
  if (kept.count < keep_lines && !job.eval_only) {  // a new machine has the checkpoints only
    Lines saved = first_lines(std::filesystem::path(job.checkpoint_dir) / kHistoryFile, keep_lines);
    if (saved.count > kept.count) kept = std::move(saved);
    if (kept.count < keep_lines)
      log::warning(strf("%s has %lld of the %lld lines the checkpoint knows; it goes on from there",
                        path.c_str(), static_cast<long long>(kept.count),
                        static_cast<long long>(keep_lines)));
  }
  history_lines_ = kept.count;
  write_whole(path, kept.text);  // an interruption here must not lose the lines that are kept
  history_.open(path, std::ios::app);
  if (!history_)
    throw std::runtime_error("cannot write " + path.string() +
                             "; choose another directory with --output");
}

void Reporter::append(const std::string& json) {
  history_ << json.substr(0, json.size() - 1) << ",\"time\":\"" << utc_time() << "\"}\n"
           << std::flush;
  if (!history_)
    throw std::runtime_error("cannot write " + (output_ / kHistoryFile).string() +
                             "; is the disk full?");
  ++history_lines_;
}

void Reporter::write_classes(const std::vector<std::string>& classes) {
  if (!on_) return;
  write_whole(output_ / "classes.json", classes_json(classes) + "\n");
}

std::string start_block(const ResolvedJob& job, const std::string& origin) {
  std::string text =
      strf("%s, %lld parameters, %.2f G multiply-adds an image at %lld px",
           job.model_info.name.c_str(), static_cast<long long>(job.model_info.parameters),
           job.model_info.multiply_adds / 1e9, static_cast<long long>(job.model_info.eval_size));
  const auto known = [](int64_t count) { return count > 0 ? std::to_string(count) : "a pipe of"; };
  const std::string train = job.eval_only ? "" : known(job.train_images) + " train and ";
  text += strf("\ndata     %s%s val images, %lld classes", train.c_str(),
               known(job.val_images).c_str(), static_cast<long long>(job.model.classes));
  text += strf(
      "\nworld    %lld process(es), backend %s, device %s, %d compute and %d loader threads each",
      static_cast<long long>(job.world_size), job.backend.c_str(), job.device.c_str(), job.threads,
      job.workers);
  text +=
      strf("\nbatch    %lld per process × %lld × accumulate %lld = %lld per step",
           static_cast<long long>(job.batch_size), static_cast<long long>(job.world_size),
           static_cast<long long>(job.accumulate), static_cast<long long>(job.global_batch_size));
  if (!job.eval_only)
    text += strf(
        "\nlength   %lld steps per epoch (%lld images left out), %lld in all, stopping at %lld",
        static_cast<long long>(job.steps_per_epoch), static_cast<long long>(job.dropped_images),
        static_cast<long long>(job.total_steps), static_cast<long long>(job.last_step));
  text += "\noutput   " + job.output + ", checkpoints " + job.checkpoint_dir;
  text += "\nstart    " + origin;
  std::vector<std::string> settings;
  for (const SavedSetting& setting : job.settings)
    settings.push_back(setting.name + "=" + setting.value);
  return text + "\n" + wrapped("settings", settings, 9);
}

void Reporter::start(const std::string& origin) {
  if (!on_) return;
  log::info(start_block(job_, origin));
  if (job_.model.classes < ops::kTop5) log::info(top5_note(job_.model.classes));
}

void Reporter::event(const std::string& name, int64_t step,
                     const std::vector<std::pair<std::string, double>>& values, bool in_history) {
  if (!on_) return;
  std::string line = "event=" + name + "; ";
  Json json = {{"event", name}};
  for (const auto& [key, value] : values) {
    line += strf("%s=%.9g; ", key.c_str(), value);
    json[key] = value;
  }
  json["step"] = step;
  log::line(line + strf("step=%lld;", static_cast<long long>(step)));
  if (in_history) append(json.dump());
}

void Reporter::step(const StepReport& r) {
  if (!on_) return;
  if (r.last.empty() || r.epoch_sum.empty()) return;
  log::line(imagenet_line(r));
  log::line(key_value_line(r));
  Json json = {{"event", "train"},
               {"epoch", r.epoch},
               {"step_in_epoch", r.step_in_epoch},
               {"step", r.step},
               {"loss", r.last.mean_loss()},
               {"loss_average", r.epoch_sum.mean_loss()},
               {"acc1", r.last.top1_percent()},
               {"acc1_average", r.epoch_sum.top1_percent()},
               {"acc5", r.last.top5_percent()},
               {"acc5_average", r.epoch_sum.top5_percent()},
               {"lr", r.lr}};
  if (std::isfinite(r.gradient_norm)) json["grad_norm"] = r.gradient_norm;
  json["timing"] = {{"images_per_sec", r.images_per_second},
                    {"step", r.step_seconds},
                    {"step_average", r.step_seconds_average},
                    {"data", r.data_seconds},
                    {"data_average", r.data_seconds_average}};
  last_.train = json.dump();
  append(last_.train);
}

void Reporter::progress(const Position& at, double images_per_second, const Meter& sum) {
  if (!on_ || !job_.progress || !log::has_status()) return;
  const int64_t done = at.step, width = 24;
  const double share = std::min(
      1.0, static_cast<double>(done) / static_cast<double>(std::max<int64_t>(1, job_.last_step)));
  const auto filled = static_cast<size_t>(share * width);
  const double left = images_per_second > 0
                          ? static_cast<double>((job_.last_step - done) * job_.global_batch_size) /
                                images_per_second
                          : 0;
  log::status(
      strf("[%s%s] %3.0f%%  epoch %lld  %lld/%lld  %.1f images/s  ETA %s  loss %.3f  acc@1 %.1f%%",
           std::string(filled, '#').c_str(),
           std::string(static_cast<size_t>(width) - filled, '.').c_str(), 100 * share,
           static_cast<long long>(at.epoch), static_cast<long long>(at.step_in_epoch),
           static_cast<long long>(job_.steps_per_epoch), images_per_second,
           clock_time(left).c_str(), sum.mean_loss(), sum.top1_percent()));
}

void Reporter::evaluation_progress(int64_t batch, int64_t batches, double seconds,
                                   double seconds_average, const Meter& last, const Meter& sum) {
  if (!on_ || last.empty()) return;
  if (!std::isfinite(last.loss) || !std::isfinite(sum.loss)) return;
  log::line(imagenet_test_line(batch, batches, seconds, seconds_average, last, sum));
  append(Json{{"event", "test"},
              {"epoch", evaluation_epoch_},
              {"step", evaluation_step_},
              {"batch", batch},
              {"loss", last.mean_loss()},
              {"loss_average", sum.mean_loss()},
              {"acc1", last.top1_percent()},
              {"acc1_average", sum.top1_percent()},
              {"acc5", last.top5_percent()},
              {"acc5_average", sum.top5_percent()},
              {"timing", {{"batch", seconds}, {"batch_average", seconds_average}}}}
             .dump());
}

void Reporter::evaluation(const EvaluationReport& r) {
  if (!on_) return;
  if (r.sum.skipped > 0) {
    log::warning(
        strf("%.0f of %.0f validation images could not be read; accuracy is over the other %.0f",
             r.sum.skipped, r.sum.images + r.sum.skipped, r.sum.images));
  }
  const char* which = r.ema ? "EMA " : "";
  const char* key = r.ema ? "ema_" : "";
  log::line(strf(" * %sAcc@1 %.3f Acc@5 %.3f", which, r.sum.top1_percent(), r.sum.top5_percent()));
  std::string line;
  if (std::isfinite(r.sum.loss)) line = strf("valid:%sloss=%.6f; ", key, r.sum.mean_loss());
  line += strf("valid:%sacc1=%.6f; valid:%sacc5=%.6f; ", key, r.sum.top1_percent(), key,
               r.sum.top5_percent());
  if (!r.ema)
    line += strf("valid:images_per_sec=%.6f; valid:images=%.0f; ",
                 r.sum.images / std::max(r.seconds, 1e-9), r.sum.images);
  log::line(line + strf("epoch=%lld; step=%lld;", static_cast<long long>(r.epoch),
                        static_cast<long long>(r.step)));
  Json json = {{"event", r.ema ? "valid_ema" : "valid"}, {"epoch", r.epoch}, {"step", r.step}};
  if (std::isfinite(r.sum.loss)) json["loss"] = r.sum.mean_loss();
  json["acc1"] = r.sum.top1_percent();
  json["acc5"] = r.sum.top5_percent();
  json["correct1"] = static_cast<int64_t>(r.sum.top1);
  json["correct5"] = static_cast<int64_t>(r.sum.top5);
  json["images"] = static_cast<int64_t>(r.sum.images);
  json["unreadable"] = static_cast<int64_t>(r.sum.skipped);
  json["timing"] = {{"seconds", r.seconds},
                    {"images_per_sec", r.sum.images / std::max(r.seconds, 1e-9)}};
  (r.ema ? last_.valid_ema : last_.valid) = json.dump();
  append(json.dump());
}

void Reporter::finish(const Ending& ending) {
  if (!on_) return;
  log::status("");
  const WaitReport& wait = ending.wait;
  const double share = wait.data_seconds / std::max(wait.seconds, 1e-9);
  if (wait.steps > 0)
    log::info(strf("%lld of %lld steps waited for images, %.1f %% of their time%s",
                   static_cast<long long>(wait.waited), static_cast<long long>(wait.steps),
                   100 * share,
                   share > 0.1 ? "; `shoal bench loader` says what bounds the loader" : ""));
  log::line(strf("Total time: %.0f seconds", ending.seconds));
  const auto path = output_ / kSummaryFile;
  // A run that had nothing to do leaves the summary of the one that did it all.
  const bool idle = last_.train.empty() && last_.valid.empty() && !ending.exported;
  if (job_.eval_only || (idle && tells_of_success(path))) return;
  write_summary(path, job_, ending, last_, started_);
}

void Reporter::fail(const Ending& ending) noexcept try {
  if (!on_ || job_.eval_only) return;
  log::status("");
  write_summary(output_ / kSummaryFile, job_, ending, last_, started_);
} catch (const std::exception& error) {
  log::warning(error.what());
}

}  // namespace shoal::train
