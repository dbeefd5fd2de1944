// Table rows for the options of NVIDIA's TensorFlow 2 EfficientNet, and of examples that use SMDDP,
// SageMaker's library for data-parallel training.
#include "app/options/foreign/foreign_row.h"

namespace shoal::app {
namespace {

Pairs precision(const std::string& name) {
  const bool half = name == "float16" || name == "fp16";
  const bool brain = name == "bfloat16" || name == "bf16";
  if (!half && !brain && name != "float32" && name != "fp32")
    throw UserError("--dtype is '" + name + "'; it must be float32, bfloat16 or float16");
  return {{"amp", half || brain ? "bf16" : "off"}};
}

Pairs batch_norm(const std::string& kind) {
  return {{"sync-bn", kind == "syncbn" ? "true" : "false"}};
}

Pairs decay_kind(const std::string& name) {
  return {{"schedule", name == "exponential" ? "step" : name}};
}

Pairs rate_at_128(const std::string& rate) {
  return {{"lr", rate}, {"scale-lr", "128"}};
}

Pairs mode(const std::string& name) {
  if (name == "train" || name == "train_and_eval") return {};
  if (name == "eval" || name == "evaluate") return {{"eval-only", "true"}, {"resume", "true"}};
  throw UserError("--mode is '" + name +
                  "'; it must be train, train_and_eval or eval. `shoal predict` classifies images, "
                  "`shoal bench loader` measures data loading, and `shoal bench step` measures "
                  "training");
}

Pairs unless_on_s3(const std::string& folder) {
  if (folder.starts_with("s3://")) return {};  // set by the SageMaker SDK for its own upload
  return {{"output", folder}};
}

Pairs unless_empty_threads(const std::string& count) {
  if (count.empty()) return {};
  return {{"threads", count}};
}

constexpr char kAmp[] = "amp", kBf16[] = "bf16", kCompression[] = "gradient-compression";

constexpr const char* kPolicyText =
    "give the whole policy to --auto-augment, for example rand-m10-n2";
constexpr const char* kTimmStrength =
    "use --random-erase for cutout; translations are at most 45 % of the width or height";
constexpr const char* kTensorFlow = "shoal does not use TensorFlow";
constexpr const char* kCounted = "shoal counts the images";
constexpr const char* kStages =
    "use --size-schedule for stages of image sizes, for example "
    "25%:128,25%:192,50%:192,50%:256,75%:256,75%:300";
// NVIDIA's program schedules each strength separately; --strength-schedule has one factor for all.
constexpr const char* kStageStrength =
    "use --strength-schedule, one factor for RandAugment, mixup, cutmix and dropout, for example "
    "0:0.3,100%:1";

}  // namespace

std::vector<ForeignOption> tensorflow_rows() {
  return {
      {"lr-init", kNvidiaTensorFlow, Kind::value, "lr",
       "for a global batch of 128 (--scale-lr 128)", rate_at_128},
      {"lr-decay", kNvidiaTensorFlow, Kind::value, "schedule",
       "exponential: step, counted from the first epoch and not from the end of the warm-up",
       decay_kind},
      same("lr-decay-rate", kNvidiaTensorFlow, "decay-rate"),
      same("lr-decay-epochs", kNvidiaTensorFlow, "decay-epochs"),
      same("lr-warmup-epochs", kNvidiaTensorFlow, "warmup-epochs"),
      same("max-epochs", kNvidiaTensorFlow, "epochs"),
      same("train-batch-size", kNvidiaTensorFlow, "batch-size"),
      same("train-img-size", kNvidiaTensorFlow, "size"),
      same("eval-img-size", kNvidiaTensorFlow, "val-size"),
      same("decay", kNvidiaTensorFlow, "alpha"),
      same("epsilon", kNvidiaTensorFlow, "eps"),
      same("opt-epsilon", kNvidiaTensorFlow, "eps"),
      same("beta-1", kNvidiaTensorFlow, "beta1"),
      same("beta-2", kNvidiaTensorFlow, "beta2"),
      same("moving-average-decay", kNvidiaTensorFlow, "ema"),
      same("grad-accum-steps", kNvidiaTensorFlow, "accumulate"),
      same("grad-clip-norm", kNvidiaTensorFlow, "clip"),
      same("mixup-alpha", kNvidiaTensorFlow, "mixup"),
      same("cutmix-alpha", kNvidiaTensorFlow, "cutmix"),
      {"batch-norm", kNvidiaTensorFlow, Kind::value, "sync-bn", "syncbn: on", batch_norm},
      {"use-amp", kNvidiaTensorFlow, Kind::flag, "amp", "bf16", always<kAmp, kBf16>},
      {"dtype", kNvidiaTensorFlow, Kind::value, "amp", "float32: off; bfloat16 and float16: bf16",
       precision},
      same("data-dir", kNvidiaTensorFlow, "data"),
      {"model-dir", kNvidiaTensorFlow, Kind::value, "output", "a folder; an S3 address is ignored",
       unless_on_s3},
      same("results-dir", kNvidiaTensorFlow, "output"),
      same_flag("resume-checkpoint", kNvidiaTensorFlow, "resume"),
      same("log-steps", kNvidiaTensorFlow, "print-freq"),
      same("display-every", kNvidiaTensorFlow, "print-freq"),
      {"intraop-threads", kNvidiaTensorFlow, Kind::value, "threads", "", unless_empty_threads},
      {"mode", kNvidiaTensorFlow, Kind::value, "eval-only",
       "train, train_and_eval: train; eval: --eval-only --resume; others are refused", mode},
      idle("interop-threads", kNvidiaTensorFlow, kTensorFlow),
      idle_flag("use-xla", kNvidiaTensorFlow, "kernels are compiled ahead of time"),
      idle_flag("defer-img-mixing", kNvidiaTensorFlow, "images are always mixed after batching"),
      idle_flag("disable-map-parallelization", kNvidiaTensorFlow, kLoader),
      idle_flag("use-dali", kNvidiaTensorFlow, kLoader),
      idle_flag("use-dali-eval", kNvidiaTensorFlow, kLoader),
      idle_flag("train-use-dali", kNvidiaTensorFlow, kLoader),
      idle_flag("eval-use-dali", kNvidiaTensorFlow, kLoader),
      idle("index-file", kNvidiaTensorFlow, kLoader),
      idle("dataset", kNvidiaTensorFlow, "use --data"),
      idle("train-num-examples", kNvidiaTensorFlow, kCounted),
      idle("eval-num-examples", kNvidiaTensorFlow, kCounted),
      idle("eval-batch-size", kNvidiaTensorFlow, "evaluation uses --batch-size"),
      idle("predict-batch-size", kNvidiaTensorFlow, "use `shoal predict`"),
      same("num-epochs-between-eval", kNvidiaTensorFlow, "eval-every"),
      idle("n-repeat-eval", kNvidiaTensorFlow, "each evaluation of the same weights is the same"),
      idle("save-checkpoint-freq", kNvidiaTensorFlow, kEveryEpoch),
      idle_flag("skip-eval", kNvidiaTensorFlow, "the end of a run is always evaluated"),
      idle_flag("enable-checkpoint-and-export", kNvidiaTensorFlow, kEveryEpoch),
      idle_flag("enable-checkpoint-saving", kNvidiaTensorFlow, kEveryEpoch),
      idle_flag("intratrain-eval-using-ema", kNvidiaTensorFlow,
                "both the model and its weight average are evaluated"),
      idle_flag("lookahead", kNvidiaTensorFlow, "shoal does not have this optimizer"),
      {"hvd-fp16-compression", kNvidiaTensorFlow, Kind::flag, "gradient-compression",
       "bf16; sums are computed in float32", always<kCompression, kBf16>},
      {"augmenter-name", kNvidiaTensorFlow, Kind::value, "auto-augment",
       "autoaugment: v0; randaugment: rand-m10-n2; others: none", augmentation},
      same("autoaugmentation-name", kNvidiaTensorFlow, "auto-augment"),
      idle("num-layers", kNvidiaTensorFlow, kPolicyText),
      idle("magnitude", kNvidiaTensorFlow, kPolicyText),
      idle("raug-num-layers", kNvidiaTensorFlow, kPolicyText),
      idle("raug-magnitude", kNvidiaTensorFlow, kPolicyText),
      idle("cutout-const", kNvidiaTensorFlow, kTimmStrength),
      idle("translate-const", kNvidiaTensorFlow, kTimmStrength),
      idle("n-stages", kNvidiaTensorFlow, kStages),
      idle("base-img-size", kNvidiaTensorFlow, kStages),
      idle("base-mixup", kNvidiaTensorFlow, kStageStrength),
      idle("base-cutmix", kNvidiaTensorFlow, kStageStrength),
      idle("base-randaug-mag", kNvidiaTensorFlow, kStageStrength),
      idle("weight-init", kNvidiaTensorFlow, kModelFixed),
      idle("activation", kNvidiaTensorFlow, kModelFixed),
      idle("data-format", kNvidiaTensorFlow, "images are always channels-last"),
      idle("memory-limit", kNvidiaTensorFlow, kTensorFlow),
      idle_switch("run-eagerly", kNvidiaTensorFlow, kTensorFlow),
      idle_switch("time-history", kNvidiaTensorFlow, "shoal always times every step"),
      idle_flag("benchmark", kNvidiaTensorFlow, "shoal always times every step"),
      idle("log-filename", kNvidiaTensorFlow, kOwnFiles),
      idle_flag("enable-tensorboard", kNvidiaTensorFlow,
                "TensorBoard's event file is written by default (--tensorboard)"),
      idle_flag("write-model-weights", kNvidiaTensorFlow, kOwnFiles),
      idle_flag("tb-write-model-weights", kNvidiaTensorFlow, "use --histograms 1e"),
      idle_flag("export-SavedModel", kNvidiaTensorFlow, kTensorFlow),
      idle("weights-format", kNvidiaTensorFlow, kTensorFlow),
  };
}

}  // namespace shoal::app
