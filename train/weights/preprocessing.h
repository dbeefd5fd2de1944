#pragma once
// Stores the image preprocessing that weights expect, in their checkpoint or exported model, and
// reads it back.

#include "train/job/job.h"
#include "train/weights/checkpoint_file.h"

namespace shoal::train {

// Stores the preprocessing of evaluation in `data`. `crop_pct`: --crop-pct; 0: not given.
void put_preprocessing(const data::TransformOptions& evaluation, double crop_pct,
                       CheckpointData& data);

// Returns the number of channels in `data`; 3 in older files. Throws like normalization_in().
int64_t channels_in(const CheckpointData& data);

// Returns the normalization in `data`. Older files store none; for them, returns ImageNet's, which
// was used then. Throws std::runtime_error if the values are damaged.
Normalization normalization_in(const CheckpointData& data);

// Sets channels, mean and standard deviation in `job` to those of the weights, unless the user gave
// them. For one channel, uses the averages over the three channels. Does nothing if `data` does not
// store the number of channels (files of other programs, older files of shoal). Throws like
// normalization_in().
void take_normalization(const CheckpointData& data, Job& job);

// Like take_normalization(), but for the whole preprocessing of evaluation, including sizes and
// interpolation. Replaces interpolation `random`, because evaluation cannot use it. Does not take
// val_resize if the user gave val_size, because the two belong together. `data` must come from
// shoal; throws std::runtime_error if an entry is missing.
void take_preprocessing(const CheckpointData& data, Job& job);

// Throws UserError: weights for grayscale images need --channels 1.
[[noreturn]] void refuse_gray_weights();

// Fits the weight of a model's first convolution, the tensor named `convolution`, to images with
// `channels` channels. For grayscale images, sums an RGB weight over its input channels, like timm,
// and logs a message. Throws UserError if the weight is for grayscale images and `channels` is 3.
void fit_channels(NamedTensors& tensors, const std::string& convolution, int64_t channels);

}  // namespace shoal::train
