// Table rows for the options of PyTorch's imagenet example and of NVIDIA's PyTorch program.
#include <algorithm>

#include "app/options/foreign/foreign_row.h"
#include "app/options/option_row.h"

namespace shoal::app {
namespace {

bool negative(const std::string& value) {
  return value.starts_with("-");
}

// Sets `Ours` unless the value is negative: many options of these programs use -1 for "not set".
template <const char* Ours>
Pairs unless_negative(const std::string& value) {
  if (negative(value)) return {};
  return {{Ours, value}};
}
constexpr char kWeights[] = "weights", kPretrained[] = "pretrained", kDeviceOption[] = "device",
               kCpu[] = "cpu";
constexpr char kPatience[] = "patience", kEvalEvery[] = "eval-every", kZero[] = "0";
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

Pairs survival(const std::string& text) {
  double kept = 0;
  try {
    store(kept, text);
  } catch (const std::invalid_argument&) {
    throw UserError("--survival_prob is '" + text + "'; it must be a number");
  }
  return {{"drop-path", text_of(1 - kept)}};
}

Pairs squared(const std::string& text) {
  const auto value = parse_number<double>(text);
  if (!value) throw UserError("--rmsprop-eps is '" + text + "'; it must be a number");
  return {{"eps", text_of(*value * *value)}};
}

Pairs checkpoints_kept(const std::string& count) {
  if (negative(count) || count.find_first_not_of("0.") == count.npos) return {};
  return {{"keep", count}};
}

constexpr const char* kLossScale =
    "shoal uses bf16 instead of float16, which needs no loss scaling";
constexpr const char* kDevice = "the process's local rank determines the device";

std::vector<ForeignOption> foreign_rows() {
  return {
      // PyTorch's imagenet example. NVIDIA's PyTorch program shares some of these options.
      same("arch", kPyTorch | kNvidiaTensorFlow, "model"),
      same("a", kPyTorch, "model"),
      same("j", kPyTorch, "workers"),
      same("b", kPyTorch, "batch-size"),
      same("p", kPyTorch, "print-freq"),
      same("learning-rate", kPyTorch, "lr"),
      same("wd", kPyTorch, "weight-decay"),
      same_flag("evaluate", kPyTorch, "eval-only"),
      same_flag("e", kImagenet, "eval-only"),
      idle("start-epoch", kImagenet, "the checkpoint contains the epoch"),
      {"pretrained", kPyTorch, Kind::flag, "weights",
       "the input channel named pretrained, else torchvision's V1 weights, else timm's",
       always<kWeights, kPretrained>},
      {"world-size", kImagenet, Kind::value, kNodes, "number of hosts; -1: from the environment",
       unless_negative<kNodes>},
      {"rank", kImagenet, Kind::value, kNodeRank, "rank of the host; -1: from the environment",
       unless_negative<kNodeRank>},
      {"dist-url", kImagenet, Kind::value, "master-addr",
       "also sets --master-port; env://: MASTER_ADDR and MASTER_PORT", rendezvous},
      {"dist-backend", kImagenet, Kind::value, "backend",
       "gloo: gloo; others: auto, which means NCCL on GPUs", backend},
      idle("gpu", kImagenet, kDevice),
      idle("local-rank", kPyTorch, kDevice),
      {"no-accel", kImagenet, Kind::flag, "device", "cpu", always<kDeviceOption, kCpu>},
      {"multiprocessing-distributed", kImagenet, Kind::flag, "batch-per-host",
       "divides --batch-size and --workers among the host's processes", nullptr},
      {"dummy", kImagenet, Kind::flag, "train", "synthetic images, as many as in ImageNet",
       synthetic_imagenet},

      // NVIDIA's PyTorch program.
      {"data-backend", kNvidiaPyTorch, Kind::value, "train",
       "synthetic: synthetic images; others: shoal's own loader", data_backend},
      same("image-size", kNvidiaPyTorch, "size"),
      {"optimizer-batch-size", kNvidiaPyTorch, Kind::value, kGlobalBatch,
       "sets --accumulate; -1: one micro-batch per step", unless_negative<kGlobalBatch>},
      {"lr-schedule", kNvidiaPyTorch, Kind::value, "schedule",
       "step: every --decay-epochs epochs, not at 30, 60 and 80", nullptr},
      same("end-lr", kNvidiaPyTorch, "min-lr"),
      same("warmup", kNvidiaPyTorch, "warmup-epochs"),
      same("rmsprop-alpha", kNvidiaPyTorch, "alpha"),
      {"rmsprop-eps", kNvidiaPyTorch, Kind::value, "eps",
       "squared, because shoal adds it inside the square root", squared},
      same("use-ema", kNvidiaPyTorch, "ema"),
      same("workspace", kNvidiaPyTorch, "output"),
      {"prof", kNvidiaPyTorch, Kind::value, kMaxSteps, "-1: no limit", unless_negative<kMaxSteps>},
      {"gather-checkpoints", kNvidiaPyTorch, Kind::value, "keep", "0 or less: the default",
       checkpoints_kept},
      {"survival-prob", kNvidiaPyTorch, Kind::value, "drop-path", "1 - P", survival},
      same("num-classes", kNvidiaPyTorch | kNvidiaTensorFlow, "classes"),
      same("pretrained-from-file", kNvidiaPyTorch, "weights"),
      idle("prefetch", kNvidiaPyTorch, kLoader),
      idle("run-epochs", kNvidiaPyTorch, "use --max-steps, or stop the run with a signal"),
      {"early-stopping-patience", kNvidiaPyTorch, Kind::value, kPatience, "-1: never",
       unless_negative<kPatience>},
      idle_flag("bn-weight-decay", kNvidiaPyTorch, "weight decay never applies to batch norm"),
      idle("static-loss-scale", kNvidiaPyTorch, kLossScale),
      idle_flag("dynamic-loss-scale", kNvidiaPyTorch, kLossScale),
      idle("raport-file", kNvidiaPyTorch,
           "use --log-format dllogger, which prints the lines of that file"),
      {"training-only", kNvidiaPyTorch, Kind::flag, kEvalEvery,
       "0: the end of the run is still evaluated", always<kEvalEvery, kZero>},
      idle_flag("no-checkpoints", kNvidiaPyTorch, kEveryEpoch),
      idle("jit", kNvidiaPyTorch, "shoal is compiled code"),
      idle("checkpoint-filename", kNvidiaPyTorch, "shoal names its checkpoints itself"),
      idle("memory-format", kNvidiaPyTorch, "images are always channels-last"),
      {"augmentation", kNvidiaPyTorch, Kind::value, "auto-augment",
       "autoaugment: v0; randaugment: rand-m10-n2; others: none", augmentation},
      idle("gpu-affinity", kNvidiaPyTorch, "the operating system assigns threads to cores"),
      idle("topk", kNvidiaPyTorch, "top-1 and top-5 accuracy are always measured"),
      idle("conv-init", kNvidiaPyTorch, kModelFixed),
      idle("bn-momentum", kNvidiaPyTorch, kModelFixed),
      idle("bn-epsilon", kNvidiaPyTorch, kModelFixed),
      idle_flag("last-bn-0-init", kNvidiaPyTorch, kModelFixed),
  };
}

}  // namespace

Pairs augmentation(const std::string& name) {
  const bool rand = name == "randaugment", automatic = name == "autoaugment";
  return {{"auto-augment", rand ? "rand-m10-n2" : automatic ? "v0" : "none"}};
}

const std::vector<ForeignOption>& foreign_options() {
  static const std::vector<ForeignOption> table = [] {
    std::vector<ForeignOption> rows = foreign_rows();
    for (ForeignOption& row : timm_rows()) rows.push_back(std::move(row));
    for (ForeignOption& row : tensorflow_rows()) rows.push_back(std::move(row));
    return rows;
  }();
  return table;
}

}  // namespace shoal::app
