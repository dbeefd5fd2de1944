#include "train/weights/preprocessing.h"

#include <ATen/ops/sum.h>

#include <array>
#include <stdexcept>

#include "base/log.h"

namespace shoal::train {
namespace {

constexpr std::array<int64_t, 1> kInputDimension = {1};  // input channels of a convolution's weight

// Returns an entry of data.text. If it is missing, returns `otherwise`.
std::string text_in(const CheckpointData& data, const std::string& name,
                    const std::string& otherwise) {
  const auto entry = data.text.find(name);
  return entry == data.text.end() ? otherwise : entry->second;
}

// Returns parse(text_in(data, name, otherwise)). If parse() throws std::logic_error, throws
// std::runtime_error that names the entry.
template <class Parse>
auto parsed(const CheckpointData& data, const std::string& name, const std::string& otherwise,
            Parse parse) {
  const std::string text = text_in(data, name, otherwise);
  try {
    return parse(text);
  } catch (const std::logic_error&) {
    throw std::runtime_error("the weights' " + name + " is damaged: '" + text + "'");
  }
}

}  // namespace

int64_t channels_in(const CheckpointData& data) {
  return parsed(data, "channels", "3", [](const std::string& text) {
    if (text != "1" && text != "3") throw std::invalid_argument(text);
    return int64_t{text == "1" ? 1 : 3};
  });
}

void put_preprocessing(const data::TransformOptions& evaluation, double crop_pct,
                       CheckpointData& data) {
  data.integers["val_size"] = evaluation.eval_size;
  data.integers["val_resize"] = evaluation.eval_resize;
  data.text["interpolation"] =
      evaluation.interpolation == data::Interpolation::bicubic ? "bicubic" : "bilinear";
  data.text["mean"] = text_of(evaluation.normalization.mean);
  data.text["std"] = text_of(evaluation.normalization.std);
  data.text["channels"] = std::to_string(evaluation.channels);
  if (crop_pct > 0) data.text["crop_pct"] = number(crop_pct);
}

Normalization normalization_in(const CheckpointData& data) {
  const Normalization older;
  return {parsed(data, "mean", text_of(older.mean), parse_mean),
          parsed(data, "std", text_of(older.std), parse_std)};
}

void take_normalization(const CheckpointData& data, Job& job) {
  if (!data.text.contains("channels")) return;
  if (!job.channels) job.channels = channels_in(data);
  Normalization own = normalization_in(data);
  if (*job.channels == 1) own = {averaged(own.mean), averaged(own.std)};
  if (!job.mean) job.mean = own.mean;
  if (!job.std) job.std = own.std;
}

void take_preprocessing(const CheckpointData& data, Job& job) {
  take_normalization(data, job);
  if (!job.crop_pct && !job.val_resize) {
    if (!job.val_size) job.val_resize = data.integer("val_resize");
    if (data.text.contains("crop_pct"))
      job.crop_pct =
          parsed(data, "crop_pct", "", [](const std::string& text) { return std::stod(text); });
  }
  if (!job.val_size) job.val_size = data.integer("val_size");
  if (!job.interpolation || *job.interpolation == data::Interpolation::random)
    job.interpolation = data.string("interpolation") == "bicubic" ? data::Interpolation::bicubic
                                                                  : data::Interpolation::bilinear;
}

void refuse_gray_weights() {
  throw UserError("the weights are for grayscale images; add --channels 1");
}

void fit_channels(NamedTensors& tensors, const std::string& convolution, int64_t channels) {
  for (auto& [name, weight] : tensors) {
    if (name != convolution || weight.dim() != 4 || weight.size(1) == channels) continue;
    if (weight.size(1) == 1 && channels == 3) refuse_gray_weights();
    if (weight.size(1) != 3 || channels != 1) continue;  // loading reports the wrong shape
    weight = at::sum(weight.to(at::kFloat), at::IntArrayRef(kInputDimension), /*keepdim=*/true);
    log::info("--channels 1: the weights of " + convolution +
              " are summed over red, green and blue");
  }
}

}  // namespace shoal::train
