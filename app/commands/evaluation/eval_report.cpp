#include "app/commands/evaluation/eval_report.h"

#include <algorithm>
#include <cmath>

#include "app/commands/printable_row.h"
#include "base/json.h"
#include "base/log.h"
#include "train/report/class_metrics.h"

namespace shoal::app {
namespace {

using Json = nlohmann::ordered_json;
using train::ClassCounts;
using train::Confusion;

constexpr size_t kConfusions = 10;  // number of confusions that --details prints

Json per_class(const EvaluatedWeights& evaluated) {
  Json rows = Json::array();
  for (size_t i = 0; i < evaluated.report.figures.classes.size(); ++i) {
    rows.push_back({{"class", evaluated.classes[i]}});
    train::append_metrics(rows.back(), evaluated.report.figures.classes[i]);
  }
  return rows;
}

// Prints one line of JSON. Only the last set of weights (`last`) has suspects.
void print_json(const Arguments& arguments, const EvaluatedWeights& evaluated, bool last) {
  const train::Meter& sum = evaluated.report.sum;
  const train::Classification& figures = evaluated.report.figures;
  Json json = {{"acc1", sum.top1_percent()},
               {"acc5", sum.top5_percent()},
               {"loss", sum.mean_loss()},
               {"correct1", int64_t(sum.top1)},
               {"correct5", int64_t(sum.top5)},
               {"images", int64_t(sum.images)},
               {"unreadable", int64_t(sum.skipped)},
               {"seconds", evaluated.report.seconds},
               {"ema", evaluated.ema},
               {"checkpoint", evaluated.file},
               {"model", evaluated.network},
               {"ece", figures.ece},
               {"precision", figures.precision},
               {"recall", figures.recall},
               {"f1", figures.f1}};
  if (evaluated.real)
    json["real"] = {{"acc1", evaluated.real->percent()},
                    {"images", evaluated.real->images},
                    {"without_labels", evaluated.real->without}};
  if (arguments.eval.details) json["per_class"] = per_class(evaluated);
  if (arguments.eval.suspects > 0 && last) json["suspects"] = Json::array();
  for (const train::WorstImage& one : evaluated.suspects)
    json["suspects"].push_back({{"path", one.path},
                                {"label", one.label},
                                {"class", evaluated.classes[size_t(one.label)]},
                                {"predicted", evaluated.classes[size_t(one.predicted)]},
                                {"probability", one.probability},
                                {"loss", one.loss}});
  log::line(json_text(json));
}

// Formats a fraction as a percentage, in a column of 10 characters.
std::string percent(const std::optional<double>& value) {
  return value ? strf("%10.2f", 100 * *value) : strf("%10s", "-");
}

void print_details(const EvaluatedWeights& evaluated) {
  const train::Classification& figures = evaluated.report.figures;
  log::line("    images precision    recall        F1  class (precision, recall and F1 in %)");
  int64_t absent = 0;
  for (size_t i = 0; i < figures.classes.size(); ++i) {
    const ClassCounts& one = figures.classes[i];
    if (one.images == 0 && one.predicted == 0) {
      ++absent;
      continue;
    }
    log::line(printable(strf("%10ld", one.images) + percent(one.precision()) +
                        percent(one.recall()) + percent(one.f1()) + "  " + evaluated.classes[i]));
  }
  if (absent > 0)
    log::line("           " + counted(absent, "other class") + " without images and predictions");
  std::vector<Confusion> wrong;
  for (const Confusion& one : figures.confusion)
    if (one.label != one.predicted) wrong.push_back(one);
  std::stable_sort(wrong.begin(), wrong.end(),
                   [](const Confusion& a, const Confusion& b) { return a.images > b.images; });
  wrong.resize(std::min(wrong.size(), kConfusions));
  if (!wrong.empty()) log::line("most frequent confusions: images, label → prediction");
  for (const Confusion& one : wrong)
    log::line(printable(strf("%10ld  ", one.images) + evaluated.classes[size_t(one.label)] + " → " +
                        evaluated.classes[size_t(one.predicted)]));
  log::line("calibration: images, mean confidence and accuracy in %");
  for (const train::CalibrationBin& bin : figures.bins)
    if (bin.images > 0)
      log::line(strf("%10ld", bin.images) + percent(bin.confidence) + percent(bin.accuracy));
}

// Formats a probability as a percentage: with two significant digits below 10 %, otherwise with one
// decimal. Tiny probabilities, which are common for wrong labels, become "<0.01%".
std::string label_percent(double probability) {
  if (probability < 1e-4) return "<0.01%";
  return strf(probability < 0.1 ? "%.2g%%" : "%.1f%%", 100 * probability);
}

void print_suspects(const EvaluatedWeights& evaluated, const std::string& order) {
  if (!evaluated.suspects.empty()) log::line("labels that may be wrong, " + order + ":");
  for (const train::WorstImage& one : evaluated.suspects)
    log::line(printable_row(one.path + "  label " + evaluated.classes[size_t(one.label)] + " " +
                            label_percent(std::exp(-one.loss)) + ", predicted " +
                            evaluated.classes[size_t(one.predicted)] +
                            strf(" %.1f%%", 100 * one.probability)));
}

}  // namespace

void print_evaluation(const Arguments& arguments, const EvaluatedWeights& evaluated) {
  if (arguments.json) return print_json(arguments, evaluated, true);
  const train::Meter& sum = evaluated.report.sum;
  const train::Classification& figures = evaluated.report.figures;
  log::line(strf(" * Acc@1 %.3f Acc@5 %.3f", sum.top1_percent(), sum.top5_percent()));
  log::line(
      strf("top-1 %.0f of %.0f, top-5 %.0f of %.0f, %.0f unreadable, loss %.4f, %.1f images/s",
           sum.top1, sum.images, sum.top5, sum.images, sum.skipped, sum.mean_loss(),
           sum.images / evaluated.report.seconds));
  log::line(
      strf("calibration error (ECE) %.4f; mean over classes: precision %.2f %%, recall %.2f %%, "
           "F1 %.2f %%",
           figures.ece, 100 * figures.precision, 100 * figures.recall, 100 * figures.f1));
  if (evaluated.real)
    log::line(strf("several labels per image: Acc@1 %.3f of %ld images; %ld have no label",
                   evaluated.real->percent(), evaluated.real->images, evaluated.real->without));
  if (arguments.eval.details) print_details(evaluated);
  print_suspects(evaluated, "the least probable label first");
}

void print_comparison(const Arguments& arguments, const std::vector<EvaluatedWeights>& all) {
  if (arguments.json) {
    for (const EvaluatedWeights& one : all) print_json(arguments, one, &one == &all.back());
    return;
  }
  const bool real = all.front().real.has_value();
  log::line(std::string("   Acc@1   Acc@5      loss     ECE      F1  ") +
            (real ? "several labels  " : "") + "images  checkpoint");
  for (const EvaluatedWeights& one : all) {
    const train::Meter& sum = one.report.sum;
    std::string line = strf("%8.3f%8.3f %9.4f%8.4f%8.2f  ", sum.top1_percent(), sum.top5_percent(),
                            sum.mean_loss(), one.report.figures.ece, 100 * one.report.figures.f1);
    if (one.real) line += strf("%14.3f  ", one.real->percent());
    log::line(printable(line + strf("%6.0f  ", sum.images) + one.file + " (" + one.network +
                        (one.ema ? ", averaged weights)" : ")")));
  }
  print_suspects(all.back(),
                 strf("the highest mean loss over these %zu checkpoints first", all.size()));
}

}  // namespace shoal::app
