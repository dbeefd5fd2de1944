#pragma once
// Mean and standard deviation for the normalization of images.

#include <array>
#include <string>

namespace shoal {

using ChannelValues = std::array<double, 3>;  // red, green, blue; gray images use the first value

// A normalized pixel is (x - mean) / std, with x from 0 to 1. The default is ImageNet's.
struct Normalization {
  ChannelValues mean = {0.485, 0.456, 0.406}, std = {0.229, 0.224, 0.225};
};

// Returns `values` with each value replaced by the average of the three. As in timm, gray images
// are normalized with the averaged mean and the averaged std.
ChannelValues averaged(const ChannelValues& values);

// Parse one number for all channels, or three numbers separated by commas or blanks. A mean must be
// from 0 to 1, a standard deviation above 0 and at most 1. Throw std::invalid_argument whose
// message describes the expected text.
ChannelValues parse_mean(const std::string& text);
ChannelValues parse_std(const std::string& text);

// Returns "0.485,0.456,0.406", or one number if all values are equal.
std::string text_of(const ChannelValues& values);

}  // namespace shoal
