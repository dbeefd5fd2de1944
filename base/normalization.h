#pragma once
// Mean and standard deviation that normalize images.

#include <array>
#include <string>

namespace shoal {

using ChannelValues = std::array<double, 3>;  // red, green, blue; gray images use the first value

// A normalized pixel is (x - mean) / std, with x from 0 to 1. The default is ImageNet's.
struct Normalization {
  ChannelValues mean = {0.485, 0.456, 0.406}, std = {0.229, 0.224, 0.225};
};

// Returns the average of the three values, three times. As in timm, gray images use the averaged
// mean and the averaged std.
ChannelValues averaged(const ChannelValues& values);

// Parse one number, which then applies to all channels, or three, separated by commas or blanks.
// Numbers must be at most 1, a mean at least 0 and a standard deviation above 0. Throw
// std::invalid_argument with the expected form.
ChannelValues parse_mean(const std::string& text);
ChannelValues parse_std(const std::string& text);

// Returns "0.485,0.456,0.406", or one number if all values are equal.
std::string text_of(const ChannelValues& values);

}  // namespace shoal
