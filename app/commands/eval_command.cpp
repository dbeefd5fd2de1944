// shoal eval: measures the accuracy of a checkpoint or of weights.
#include <cstdio>

#include "app/commands/commands.h"
#include "app/commands/evaluation.h"
#include "app/commands/session.h"
#include "base/json.h"
#include "base/log.h"
#include "ops/places.h"
#include "train/report/sinks.h"

namespace shoal::app {
namespace {

void print(const Arguments& arguments, const train::EvaluationReport& report,
           const Weights& weights) {
  const train::Meter& sum = report.sum;
  if (arguments.json) {
    const nlohmann::ordered_json json = {{"acc1", sum.top1_percent()},
                                         {"acc5", sum.top5_percent()},
                                         {"loss", sum.mean_loss()},
                                         {"correct1", int64_t(sum.top1)},
                                         {"correct5", int64_t(sum.top5)},
                                         {"images", int64_t(sum.images)},
                                         {"unreadable", int64_t(sum.skipped)},
                                         {"seconds", report.seconds},
                                         {"ema", weights.ema},
                                         {"checkpoint", weights.file}};
    log::line(json.dump());
    return;
  }
  log::line(strf(" * Acc@1 %.3f Acc@5 %.3f", sum.top1_percent(), sum.top5_percent()));
  log::line(strf(
      "top-1 %.0f of %.0f, top-5 %.0f of %.0f, %.0f unreadable, loss %.4f, %.1f images/s", sum.top1,
      sum.images, sum.top5, sum.images, sum.skipped, sum.mean_loss(), sum.images / report.seconds));
}

}  // namespace

int eval_command(const Arguments& arguments) {
  const dist::Env env = dist::this_worker(dist::environment());
  begin(arguments.job, env);
  Evaluation evaluation(arguments, env);
  const Weights weights = open_weights(arguments, evaluation.group());
  evaluation.open(weights);
  if (env.rank == 0) {
    log_origin(weights);
    const int64_t classes = evaluation.job().model.classes;
    if (classes < ops::kTop5) log::info(train::top5_note(classes));
  }
  const auto report = evaluation.run(*weights.model);
  evaluation.end();
  if (env.rank == 0) print(arguments, report, weights);
  return 0;
}

}  // namespace shoal::app
