#pragma once
// The preprocessing of images that weights expect: stores it in checkpoints and exported models,
// and reads it back.

#include "train/job/job.h"
#include "train/weights/checkpoint_file.h"

namespace shoal::train {

// Stores the preprocessing of evaluation in `data`. `crop_pct`: --crop-pct; 0: not given.
void put_preprocessing(const data::TransformOptions& evaluation, double crop_pct,
                       CheckpointData& data);

// Returns the number of channels in `data`; 3 in older files. Throws like normalization_in().
int64_t channels_in(const CheckpointData& data);

// Returns the normalization in `data`. Older files have none; their images were normalized with
// ImageNet's. Throws std::runtime_error if the values are damaged.
Normalization normalization_in(const CheckpointData& data);

// Sets channels, mean and standard deviation to those of the weights, unless the user gave them.
// Does nothing for files of other programs. Throws like normalization_in().
void take_normalization(const CheckpointData& data, Job& job);

// Does the same for the whole preprocessing of evaluation. `data` must come from shoal.
void take_preprocessing(const CheckpointData& data, Job& job);

// Throws UserError with the message that gray weights need --channels 1.
[[noreturn]] void refuse_gray_weights();

// Fits the weight of a model's first convolution, the tensor `convolution`, to images with that
// many channels. For gray images, sums an RGB weight over its input channels, like timm, and logs
// that. Throws UserError if the weight is for gray images and `channels` is 3.
void fit_channels(NamedTensors& tensors, const std::string& convolution, int64_t channels);

}  // namespace shoal::train
