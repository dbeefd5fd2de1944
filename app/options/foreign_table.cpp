// The rows of the table of other programs' options.
#include "app/options/foreign_options.h"
#include "app/options/option_row.h"

namespace shoal::app {
namespace {

constexpr unsigned kAll = kImagenet | kNvidiaPyTorch | kNvidiaTensorFlow,
                   kPyTorch = kImagenet | kNvidiaPyTorch;

// Their option is ours under another name.
ForeignOption same(const char* name, unsigned programs, const char* ours) {
  return {name, programs, Kind::value, ours, "", nullptr};
}
ForeignOption same_flag(const char* name, unsigned programs, const char* ours) {
  return {name, programs, Kind::flag, ours, "", nullptr};
}
ForeignOption idle(const char* name, unsigned programs, const char* reason) {
  return {name, programs, Kind::value, "", reason, nullptr};
}
ForeignOption idle_flag(const char* name, unsigned programs, const char* reason) {
  return {name, programs, Kind::flag, "", reason, nullptr};
}

// A switch in one of their versions, with a value in the other.
ForeignOption idle_switch(const char* name, unsigned programs, const char* reason) {
  return {name, programs, Kind::optional_value, "", reason, nullptr};
}

bool negative(const std::string& value) {
  return value.starts_with("-");
}

// "-1" stands for "not set" in many of their options.
template <const char* Ours>
Pairs unless_negative(const std::string& value) {
  if (negative(value)) return {};
  return {{Ours, value}};
}
constexpr char kNodes[] = "nnodes", kNodeRank[] = "node-rank", kMaxSteps[] = "max-steps",
               kGlobalBatch[] = "global-batch-size";

Pairs rendezvous(const std::string& url) {
  if (url == "env://") return {};
  const size_t colon = url.rfind(':');
  if (!url.starts_with("tcp://") || colon <= 5 || colon + 1 == url.size()) {
    throw UserError("--dist-url is '" + url + "'; it must be env:// or tcp://HOST:PORT");
  }
  return {{"master-addr", url.substr(6, colon - 6)}, {"master-port", url.substr(colon + 1)}};
}

Pairs backend(const std::string& name) {
  return {{"backend", name == "gloo" ? "gloo" : "auto"}};
}

Pairs synthetic_imagenet(const std::string&) {
  return {{"train", "synthetic:1281167:1000:224x224"}, {"val", "synthetic:50000:1000:224x224"}};
}

Pairs data_backend(const std::string& name) {
  return name == "synthetic" ? synthetic_imagenet(name) : Pairs{};
}

Pairs precision(const std::string& name) {
  const bool half = name == "float16" || name == "fp16";
  const bool brain = name == "bfloat16" || name == "bf16";
  if (!half && !brain && name != "float32" && name != "fp32")
    throw UserError("--dtype is '" + name + "'; it must be float32, bfloat16 or float16");
  return {{"amp", half || brain ? "bf16" : "off"}};
}

Pairs survival(const std::string& text) {
  double kept = 0;
  try {
    store(kept, text);
  } catch (const std::invalid_argument&) {
    throw UserError("--survival_prob is '" + text + "'; it must be a number");
  }
  return {{"drop-path", text_of(1 - kept)}};
}

Pairs batch_norm(const std::string& kind) {
  return {{"sync-bn", kind == "syncbn" ? "true" : "false"}};
}

Pairs augmentation(const std::string& name) {
  const bool rand = name == "randaugment", automatic = name == "autoaugment";
  return {{"auto-augment", rand ? "rand-m10-n2" : automatic ? "v0" : "none"}};
}

// timm's two numbers, MIN,MAX.
template <const char* Low, const char* High>
Pairs range_of(const std::string& text) {
  const size_t comma = text.find_first_of(", ");
  if (comma == text.npos)
    throw UserError("'" + text + "' is no range; give MIN,MAX, or --" + Low + " and --" + High);
  return {{Low, text.substr(0, comma)}, {High, text.substr(comma + 1)}};
}
constexpr char kScaleMin[] = "crop-scale-min", kScaleMax[] = "crop-scale-max",
               kRatioMin[] = "crop-ratio-min", kRatioMax[] = "crop-ratio-max";

Pairs decay_kind(const std::string& name) {
  return {{"schedule", name == "exponential" ? "step" : name}};
}

Pairs rate_at_128(const std::string& rate) {
  return {{"lr", rate}, {"scale-lr", "128"}};
}

Pairs mode(const std::string& name) {
  if (name.starts_with("train")) return {};
  if (name == "eval") return {{"eval-only", "true"}, {"resume", "true"}};
  throw UserError("--mode is '" + name +
                  "'; it must be train, train_and_eval or eval; `shoal predict` names the classes "
                  "of images");
}

Pairs unless_on_s3(const std::string& folder) {
  if (folder.starts_with("s3://")) return {};  // of the SDK, for another uploader
  return {{"output", folder}};
}

Pairs unless_empty_threads(const std::string& count) {
  if (count.empty()) return {};
  return {{"threads", count}};
}

Pairs checkpoints_kept(const std::string& count) {
  if (negative(count) || count.find_first_not_of("0.") == count.npos) return {};
  return {{"keep", count}};
}

constexpr const char* kLoader = "images are decoded by shoal's own loader";
constexpr const char* kPolicyText = "--auto-augment holds all of a policy: rand-m10-n2";
constexpr const char* kTimmShare =
    "cutout is --random-erase; translations go up to 45 % of the side";
constexpr const char* kTensorFlow = "there is no TensorFlow here";
constexpr const char* kOwnFiles = "the files of a run are history.jsonl and summary.json";
constexpr const char* kEveryEpoch = "every epoch ends with an evaluation and a checkpoint";
constexpr const char* kCounted = "images are counted";
constexpr const char* kProgressive = "images keep one size throughout a run";
constexpr const char* kModelFixed = "it is fixed by --model, as torchvision has it";
constexpr const char* kLossScale = "bf16, which stands for float16, needs no scaling of the loss";
constexpr const char* kDevice = "the process's rank on its host chooses the device";

std::vector<ForeignOption> foreign_rows() {
  return {
      // PyTorch's imagenet example; what NVIDIA's PyTorch program shares with it.
      same("arch", kAll, "model"),
      same("a", kPyTorch, "model"),
      same("j", kPyTorch, "workers"),
      same("b", kPyTorch, "batch-size"),
      same("p", kPyTorch, "print-freq"),
      same("learning-rate", kPyTorch, "lr"),
      same("wd", kPyTorch, "weight-decay"),
      same_flag("evaluate", kPyTorch, "eval-only"),
      same_flag("e", kImagenet, "eval-only"),
      idle("start-epoch", kImagenet, "a checkpoint knows its epoch"),
      {"pretrained", kPyTorch, Kind::flag, "weights", "the channel named pretrained",
       [](const std::string&) -> Pairs {
         return {{"weights", "pretrained"}};
       }},
      {"world-size", kImagenet, Kind::value, kNodes, "hosts, as there; -1: as the environment says",
       unless_negative<kNodes>},
      {"rank", kImagenet, Kind::value, kNodeRank, "of the host; -1: as the environment says",
       unless_negative<kNodeRank>},
      {"dist-url", kImagenet, Kind::value, "master-addr",
       "with --master-port; env:// means MASTER_ADDR and MASTER_PORT", rendezvous},
      {"dist-backend", kImagenet, Kind::value, "backend",
       "gloo, and auto for all others: NCCL where a GPU computes", backend},
      idle("gpu", kImagenet, kDevice),
      idle("local-rank", kPyTorch, kDevice),
      {"no-accel", kImagenet, Kind::flag, "device", "cpu",
       [](const std::string&) -> Pairs {
         return {{"device", "cpu"}};
       }},
      {"multiprocessing-distributed", kImagenet, Kind::flag, "batch-per-host",
       "with one process per GPU", nullptr},
      {"dummy", kImagenet, Kind::flag, "train", "made-up images, as many as ImageNet has",
       synthetic_imagenet},

      // NVIDIA's PyTorch program.
      {"data-backend", kNvidiaPyTorch, Kind::value, "train",
       "synthetic: made-up images; all others: shoal's own loader", data_backend},
      same("image-size", kNvidiaPyTorch, "size"),
      {"optimizer-batch-size", kNvidiaPyTorch, Kind::value, kGlobalBatch,
       "the number of forward passes per update follows; -1: one", unless_negative<kGlobalBatch>},
      same("lr-schedule", kNvidiaPyTorch, "schedule"),
      same("end-lr", kNvidiaPyTorch, "min-lr"),
      same("warmup", kNvidiaPyTorch, "warmup-epochs"),
      same("rmsprop-alpha", kNvidiaPyTorch, "alpha"),
      same("rmsprop-eps", kNvidiaPyTorch, "eps"),
      same("use-ema", kNvidiaPyTorch, "ema"),
      same("workspace", kNvidiaPyTorch, "output"),
      {"prof", kNvidiaPyTorch, Kind::value, kMaxSteps, "-1: all", unless_negative<kMaxSteps>},
      {"gather-checkpoints", kNvidiaPyTorch, Kind::value, "keep", "0 and below: the default",
       checkpoints_kept},
      {"survival-prob", kNvidiaPyTorch, Kind::value, "drop-path", "1 - P", survival},
      same("num-classes", kNvidiaPyTorch | kNvidiaTensorFlow, "classes"),
      same("pretrained-from-file", kNvidiaPyTorch, "weights"),
      idle("prefetch", kNvidiaPyTorch, kLoader),
      idle("run-epochs", kNvidiaPyTorch, "a run is stopped by a signal or --max-steps"),
      idle("early-stopping-patience", kNvidiaPyTorch, "a run goes on to its last epoch"),
      idle_flag("bn-weight-decay", kNvidiaPyTorch, "batch norm is never decayed"),
      idle("static-loss-scale", kNvidiaPyTorch, kLossScale),
      idle_flag("dynamic-loss-scale", kNvidiaPyTorch, kLossScale),
      idle("raport-file", kNvidiaPyTorch, kOwnFiles),
      idle_flag("training-only", kNvidiaPyTorch, kEveryEpoch),
      idle_flag("no-checkpoints", kNvidiaPyTorch, kEveryEpoch),
      idle("jit", kNvidiaPyTorch, "the program is compiled"),
      idle("checkpoint-filename", kNvidiaPyTorch, "checkpoints have names of their own"),
      idle("memory-format", kNvidiaPyTorch, "images are always channels-last"),
      {"augmentation", kNvidiaPyTorch, Kind::value, "auto-augment",
       "autoaugment: v0; all others: none", augmentation},
      idle("gpu-affinity", kNvidiaPyTorch, "the system places threads"),
      idle("topk", kNvidiaPyTorch, "accuracy is that of 1 and of 5 guesses"),
      idle("conv-init", kNvidiaPyTorch, kModelFixed),
      idle("bn-momentum", kNvidiaPyTorch, kModelFixed),
      idle("bn-epsilon", kNvidiaPyTorch, kModelFixed),
      idle_flag("last-bn-0-init", kNvidiaPyTorch, kModelFixed),

      // NVIDIA's TensorFlow 2 EfficientNet, and the SMDDP examples that took it over.
      {"lr-init", kNvidiaTensorFlow, Kind::value, "lr",
       "for a global batch of 128 (--scale-lr 128)", rate_at_128},
      {"lr-decay", kNvidiaTensorFlow, Kind::value, "schedule", "exponential: in drops", decay_kind},
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
      {"use-amp", kNvidiaTensorFlow, Kind::flag, "amp", "bf16",
       [](const std::string&) -> Pairs {
         return {{"amp", "bf16"}};
       }},
      {"dtype", kNvidiaTensorFlow, Kind::value, "amp", "off, and bf16 for both halves", precision},
      same("data-dir", kNvidiaTensorFlow, "data"),
      {"model-dir", kNvidiaTensorFlow, Kind::value, "output", "a folder; not one on S3",
       unless_on_s3},
      same("results-dir", kNvidiaTensorFlow, "output"),
      same_flag("resume-checkpoint", kNvidiaTensorFlow, "resume"),
      same("log-steps", kNvidiaTensorFlow, "print-freq"),
      same("display-every", kNvidiaTensorFlow, "print-freq"),
      {"intraop-threads", kNvidiaTensorFlow, Kind::value, "threads", "", unless_empty_threads},
      {"mode", kNvidiaTensorFlow, Kind::value, "eval-only",
       "train and train_and_eval train; eval is --eval-only --resume", mode},
      idle("interop-threads", kNvidiaTensorFlow, kTensorFlow),
      idle_flag("use-xla", kNvidiaTensorFlow, "the network's kernels are compiled beforehand"),
      idle_flag("defer-img-mixing", kNvidiaTensorFlow, "images are always mixed in the batch"),
      idle_flag("disable-map-parallelization", kNvidiaTensorFlow, kLoader),
      idle_flag("use-dali", kNvidiaTensorFlow, kLoader),
      idle_flag("use-dali-eval", kNvidiaTensorFlow, kLoader),
      idle_flag("train-use-dali", kNvidiaTensorFlow, kLoader),
      idle_flag("eval-use-dali", kNvidiaTensorFlow, kLoader),
      idle("index-file", kNvidiaTensorFlow, kLoader),
      idle("dataset", kNvidiaTensorFlow, "--data says where the images are"),
      idle("train-num-examples", kNvidiaTensorFlow, kCounted),
      idle("eval-num-examples", kNvidiaTensorFlow, kCounted),
      idle("eval-batch-size", kNvidiaTensorFlow, "evaluation uses --batch-size"),
      idle("predict-batch-size", kNvidiaTensorFlow, "`shoal predict` names classes of images"),
      idle("num-epochs-between-eval", kNvidiaTensorFlow, kEveryEpoch),
      idle("n-repeat-eval", kNvidiaTensorFlow, kEveryEpoch),
      idle("save-checkpoint-freq", kNvidiaTensorFlow, kEveryEpoch),
      idle_flag("skip-eval", kNvidiaTensorFlow, kEveryEpoch),
      idle_flag("enable-checkpoint-and-export", kNvidiaTensorFlow, kEveryEpoch),
      idle_flag("enable-checkpoint-saving", kNvidiaTensorFlow, kEveryEpoch),
      idle_flag("intratrain-eval-using-ema", kNvidiaTensorFlow, "both are evaluated"),
      idle_flag("lookahead", kNvidiaTensorFlow, "this version has no such optimizer"),
      idle_flag("hvd-fp16-compression", kNvidiaTensorFlow, "gradients are averaged in 32 bit"),
      {"augmenter-name", kNvidiaTensorFlow, Kind::value, "auto-augment",
       "autoaugment: v0; randaugment: rand-m10-n2; all others: none", augmentation},
      same("autoaugmentation-name", kNvidiaTensorFlow, "auto-augment"),
      idle("num-layers", kNvidiaTensorFlow, kPolicyText),
      idle("magnitude", kNvidiaTensorFlow, kPolicyText),
      idle("raug-num-layers", kNvidiaTensorFlow, kPolicyText),
      idle("raug-magnitude", kNvidiaTensorFlow, kPolicyText),
      idle("cutout-const", kNvidiaTensorFlow, kTimmShare),
      idle("translate-const", kNvidiaTensorFlow, kTimmShare),
      idle("n-stages", kNvidiaTensorFlow, kProgressive),
      idle("base-img-size", kNvidiaTensorFlow, kProgressive),
      idle("base-mixup", kNvidiaTensorFlow, kProgressive),
      idle("base-cutmix", kNvidiaTensorFlow, kProgressive),
      idle("base-randaug-mag", kNvidiaTensorFlow, kProgressive),
      idle("weight-init", kNvidiaTensorFlow, kModelFixed),
      idle("activation", kNvidiaTensorFlow, kModelFixed),
      idle("data-format", kNvidiaTensorFlow, "images are always channels-last"),
      idle("memory-limit", kNvidiaTensorFlow, kTensorFlow),
      idle_switch("run-eagerly", kNvidiaTensorFlow, kTensorFlow),
      idle_switch("time-history", kNvidiaTensorFlow, "every update is timed"),
      idle_flag("benchmark", kNvidiaTensorFlow, "every update is timed"),
      idle("log-filename", kNvidiaTensorFlow, kOwnFiles),
      idle_flag("enable-tensorboard", kNvidiaTensorFlow, kOwnFiles),
      idle_flag("write-model-weights", kNvidiaTensorFlow, kOwnFiles),
      idle_flag("tb-write-model-weights", kNvidiaTensorFlow, kOwnFiles),
      idle_flag("export-SavedModel", kNvidiaTensorFlow, kTensorFlow),
      idle("weights-format", kNvidiaTensorFlow, kTensorFlow),

      // timm's train.py and torchvision's references: their words for augmentation.
      same("aa", kTimm, "auto-augment"),
      same("reprob", kTimm, "random-erase"),
      same("remode", kTimm, "random-erase-mode"),
      same("recount", kTimm, "random-erase-count"),
      same("train-interpolation", kTimm, "interpolation"),
      same("grayscale-prob", kTimm, "grayscale"),
      same("gaussian-blur-prob", kTimm, "gaussian-blur"),
      same("aug-repeats", kTimm, "repeated-augmentation"),
      same("ra-reps", kTimm, "repeated-augmentation"),
      {"scale", kTimm, Kind::value, kScaleMin, "MIN,MAX: with --crop-scale-max",
       range_of<kScaleMin, kScaleMax>},
      {"ratio", kTimm, Kind::value, kRatioMin, "MIN,MAX: with --crop-ratio-max",
       range_of<kRatioMin, kRatioMax>},
  };
}

}  // namespace

const std::vector<ForeignOption>& foreign_options() {
  static const std::vector<ForeignOption> table = foreign_rows();
  return table;
}

}  // namespace shoal::app
