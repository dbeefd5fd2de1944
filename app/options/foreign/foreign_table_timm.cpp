// Table rows for the options of timm's train.py and of torchvision's references.
#include <algorithm>

#include "app/options/foreign/foreign_row.h"
#include "app/options/option_row.h"

namespace shoal::app {
namespace {

// Converts timm's --input-size, CHANNELS,HEIGHT,WIDTH.
Pairs input_size(const std::string& text) {
  std::string list = text;
  std::replace(list.begin(), list.end(), ' ', ',');
  const std::vector<std::string> parts = split(list, ',');
  if (parts.size() != 3 || parts[1] != parts[2])
    throw UserError("--input-size is '" + text +
                    "'; it must be CHANNELS,SIDE,SIDE, because images are square");
  return {{"channels", parts[0]}, {"size", parts[1]}};
}

// Splits timm's MIN,MAX into the values of the options `Low` and `High`.
template <const char* Low, const char* High>
Pairs range_of(const std::string& text) {
  const size_t comma = text.find_first_of(", ");
  if (comma == text.npos)
    throw UserError("'" + text + "' is not a range; use MIN,MAX, or --" + Low + " and --" + High);
  return {{Low, text.substr(0, comma)}, {High, text.substr(comma + 1)}};
}
constexpr char kScaleMin[] = "crop-scale-min", kScaleMax[] = "crop-scale-max",
               kRatioMin[] = "crop-ratio-min", kRatioMax[] = "crop-ratio-max";
constexpr char kRepeats[] = "repeated-augmentation", kThree[] = "3", kEma[] = "ema",
               kDecay[] = "0.9998", kLoss[] = "loss", kBce[] = "bce";

Pairs at_least_once(const std::string& count) {
  return {{"repeated-augmentation", count == "0" || count == "0.0" ? "1" : count}};
}

Pairs erase_with_noise(const std::string& probability) {
  Pairs pairs = {{"random-erase", probability}};
  if (parse_number<double>(probability) != 0) pairs.push_back({"random-erase-mode", "pixel"});
  return pairs;
}

Pairs optimizer(const std::string& name) {
  if (name == "sgd" || name == "nesterov") return {{"optimizer", "sgd"}, {"nesterov", "true"}};
  if (name == "momentum") return {{"optimizer", "sgd"}, {"nesterov", "false"}};
  if (name == "rmsproptf") return {{"optimizer", "rmsprop"}, {"eps", "1e-10"}};
  if (name == "rmsprop") return {{"optimizer", "rmsprop_torch"}};
  if (name == "adamw" || name == "adam") return {{"optimizer", name}};
  if (name == "lamb") return {{"optimizer", "lamb"}, {"clip", "1"}};
  throw UserError("--opt is '" + name +
                  "'; shoal has sgd, nesterov, momentum, rmsprop, rmsproptf, adamw, adam and lamb");
}

Pairs schedule(const std::string& name) {
  if (name == "cosine" || name == "step") return {{"schedule", name}};
  throw UserError("--sched is '" + name + "'; shoal has cosine and step");
}

Pairs betas(const std::string& text) {
  const size_t comma = text.find_first_of(", ");
  if (comma == text.npos) throw UserError("--opt-betas is '" + text + "'; it must be B1,B2");
  return {{"beta1", text.substr(0, comma)}, {"beta2", text.substr(comma + 1)}};
}

// Converts timm's --recovery-interval, the number of batches between recovery checkpoints.
Pairs interval(const std::string& batches) {
  return {{"checkpoint-steps", batches == "0" ? "none" : batches}};
}

std::vector<ForeignOption> image_rows() {
  return {
      same("img-size", kTimm, "size"),
      {"input-size", kTimm, Kind::value, "size", "CHANNELS,SIDE,SIDE: also sets --channels",
       input_size, true},
      same("in-chans", kTimm, "channels"),
      same("train-crop-size", kTimm, "size"),
      same("val-crop-size", kTimm, "val-size"),
      same("val-resize-size", kTimm, "val-resize"),
      same("aa", kTimm, "auto-augment"),
      {"reprob", kTimm, Kind::value, "random-erase", "with noise unless --remode is given",
       erase_with_noise},
      same("remode", kTimm, "random-erase-mode"),
      same("recount", kTimm, "random-erase-count"),
      same("train-interpolation", kTimm, "interpolation"),
      same("grayscale-prob", kTimm, "grayscale"),
      same("gaussian-blur-prob", kTimm, "gaussian-blur"),
      {"aug-repeats", kTimm, Kind::value, kRepeats, "0: 1", at_least_once},
      {"ra-sampler", kTimm, Kind::flag, kRepeats, "3 repetitions unless --ra-reps is given",
       always<kRepeats, kThree>},
      {"ra-reps", kTimm, Kind::value, kRepeats, "has an effect only with --ra-sampler", nullptr},
      {"scale", kTimm, Kind::value, kScaleMin, "MIN,MAX: also sets --crop-scale-max",
       range_of<kScaleMin, kScaleMax>, true},
      {"ratio", kTimm, Kind::value, kRatioMin, "MIN,MAX: also sets --crop-ratio-max",
       range_of<kRatioMin, kRatioMax>, true},
  };
}

std::vector<ForeignOption> training_rows() {
  return {
      {"opt", kTimm, Kind::value, "optimizer",
       "sgd: with --nesterov; momentum: sgd without it; rmsprop: rmsprop_torch; "
       "rmsproptf: rmsprop with --eps 1e-10 unless --opt-eps is given; "
       "lamb: with --clip 1 unless --clip-grad is given",
       optimizer},
      same("opt-eps", kTimm, "eps"),
      {"opt-betas", kTimm, Kind::value, "beta1", "B1,B2: also sets --beta2", betas, true},
      {"sched", kTimm, Kind::value, "schedule", "cosine or step", schedule},
      {"lr-base", kTimm, Kind::value, "lr",
       "for a global batch of --lr-base-size images (default 256); has an effect only without "
       "--lr",
       nullptr},
      {"lr-base-size", kTimm, Kind::value, "scale-lr",
       "has an effect only without --lr and not with adamw, adam and lamb", nullptr},
      {"warmup-lr", kTimm, Kind::value, "warmup-start", "divided by --lr", nullptr},
      same("smoothing", kTimm, "label-smoothing"),
      {"bce-loss", kTimm, Kind::flag, kLoss,
       "always bce; timm ignores it without mixup, cutmix and label smoothing",
       always<kLoss, kBce>},
      same("bce-target-thresh", kTimm, "bce-threshold"),
      same("drop", kTimm, "dropout"),
      same("drop-connect", kTimm, "drop-path"),
      {"model-ema", kTimm, Kind::flag, "ema", "0.9998 unless --model-ema-decay is given",
       always<kEma, kDecay>},
      {"model-ema-decay", kTimm, Kind::value, "ema", "has an effect only with --model-ema",
       nullptr},
      same("clip-grad", kTimm, "clip"),
      same("initial-checkpoint", kTimm, "weights"),
      same("log-interval", kTimm, "print-freq"),
      {"recovery-interval", kTimm, Kind::value, "checkpoint-steps", "0: none", interval},
      same("checkpoint-hist", kTimm, "keep"),
      idle("amp-dtype", kTimm, "--amp computes in bf16"),
      idle("validation-batch-size", kTimm, "evaluation uses --batch-size"),
      idle("experiment", kTimm, "--output names the folder of the run"),
      idle("patience-epochs", kTimm, "it belongs to timm's schedule plateau"),
      idle("cooldown-epochs", kTimm, "use --epochs and --min-lr"),
      idle("eval-metric", kTimm, "the best checkpoint is the one with the best top-1 accuracy"),
      idle_flag("pin-mem", kTimm, "images for a GPU are always in page-locked memory"),
      idle_flag("no-prefetcher", kTimm, kLoader),
      idle_flag("channels-last", kTimm, "images are always channels-last"),
  };
}

}  // namespace

std::vector<ForeignOption> timm_rows() {
  std::vector<ForeignOption> rows = image_rows();
  for (ForeignOption& row : training_rows()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace shoal::app
