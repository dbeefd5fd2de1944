#include "models/network_builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/round.h"

namespace shoal::models {
namespace {

double area(const Shape& shape) {
  return static_cast<double>(shape.height * shape.width);
}

}  // namespace

int64_t multiple_of_8(double channels) {
  const int64_t rounded = std::max<int64_t>(8, static_cast<int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * channels ? rounded + 8 : rounded;
}

NetworkBuilder::NetworkBuilder(int64_t channels, int64_t side, const NormOptions& norm)
    : images_{channels, side, side}, norm_(norm) {}

void NetworkBuilder::begin_stage(const std::string& name) {
  stages_.push_back(name);
}

void NetworkBuilder::begin_block() {
  ++depth_;
}

int NetworkBuilder::add(Node node) {
  network_.nodes.push_back(std::move(node));
  return static_cast<int>(network_.nodes.size()) - 1;
}

int NetworkBuilder::parameter(const std::string& name, std::vector<int64_t> shape, Init init,
                              bool decays, bool has_copy) {
  const Traits traits{decays, /*norm=*/false, depth_, static_cast<int>(stages_.size()) - 1};
  network_.parameters.push_back({name, std::move(shape), init, traits, has_copy});
  return static_cast<int>(network_.parameters.size()) - 1;
}

int NetworkBuilder::convolution(const std::string& name, int input,
                                const ConvolutionOptions& options) {
  const Shape in = shape(input);
  const int64_t inputs = in.channels / options.groups;
  const auto fan_out = static_cast<double>(options.out * options.kernel * options.kernel);
  const int weight =
      parameter(name + ".weight", {options.out, inputs, options.kernel, options.kernel},
                {Init::Kind::normal, std::sqrt(2 / fan_out)}, /*decays=*/true, /*has_copy=*/true);
  // With an odd kernel, both kinds of padding give ceil(size / stride) outputs.
  const Shape out{options.out, ceil_divide(in.height, options.stride),
                  ceil_divide(in.width, options.stride)};
  return add({name,
              {input},
              out,
              Convolution{weight, options.kernel, options.stride, options.groups, options.padding},
              fan_out * static_cast<double>(inputs) * area(out)});
}

Norm NetworkBuilder::norm_state(const std::string& name, int64_t channels) {
  const int weight =
      parameter(name + ".weight", {channels}, {Init::Kind::constant, 1}, /*decays=*/false);
  parameter(name + ".bias", {channels}, {Init::Kind::constant, 0}, /*decays=*/false);
  for (int i : {weight, weight + 1}) network_.parameters[static_cast<size_t>(i)].traits.norm = true;
  network_.statistics.push_back({name, channels, static_cast<int>(stages_.size()) - 1});
  return {weight, static_cast<int>(network_.statistics.size()) - 1, ops::Activation::none,
          norm_.eps, norm_.momentum};
}

int NetworkBuilder::norm(const std::string& name, int input, const Norm& state,
                         std::optional<int> residual) {
  std::vector<int> inputs{input};
  if (residual) inputs.push_back(*residual);
  return add({name, std::move(inputs), shape(input), state});
}

int NetworkBuilder::norm(const std::string& name, int input, ops::Activation activation) {
  Norm state = norm_state(name, shape(input).channels);
  state.activation = activation;
  return norm(name, input, state);
}

int NetworkBuilder::conv_norm(const std::string& name, int input, const ConvolutionOptions& options,
                              ops::Activation activation) {
  return norm(name + ".1", convolution(name + ".0", input, options), activation);
}

int NetworkBuilder::squeeze_excite(const std::string& name, int input, int64_t squeezed,
                                   bool hard) {
  const int64_t channels = shape(input).channels;
  const auto fc = [&](const char* part, int64_t in, int64_t out) {
    const Init init{Init::Kind::normal, std::sqrt(2 / static_cast<double>(out))};
    const int weight = parameter(name + part + ".weight", {out, in, 1, 1}, init, /*decays=*/true);
    parameter(name + part + ".bias", {out}, {Init::Kind::constant, 0}, /*decays=*/false);
    return weight;
  };
  const int weight = fc(".fc1", channels, squeezed);
  fc(".fc2", squeezed, channels);
  return add({name,
              {input},
              shape(input),
              SqueezeExcite{weight, hard},
              2 * static_cast<double>(channels * squeezed)});
}

int NetworkBuilder::max_pool(int input, const MaxPool& pool) {
  const Shape in = shape(input);
  return add({"",
              {input},
              {in.channels, pooled_size(pool, in.height), pooled_size(pool, in.width)},
              pool});
}

int NetworkBuilder::pooled_features(int input, double dropout) {
  return add(
      {"", {input}, {shape(input).channels, 1, 1}, PooledFeatures{dropout, next_mask_layer()}});
}

int NetworkBuilder::linear(const std::string& name, int input, int64_t out, LinearInit init,
                           Linear layer) {
  constexpr double kSmall = 0.01;
  const int64_t in = shape(input).channels;
  const bool by_inputs = init == LinearInit::by_inputs;
  const double bound = 1 / std::sqrt(static_cast<double>(by_inputs ? in : out));
  const Init uniform{Init::Kind::uniform, bound};
  const Init of_weight = init == LinearInit::small ? Init{Init::Kind::normal, kSmall} : uniform;
  layer.weight = parameter(name + ".weight", {out, in}, of_weight, /*decays=*/true);
  parameter(name + ".bias", {out}, by_inputs ? uniform : Init{}, /*decays=*/false);
  return add({name, {input}, {out, 1, 1}, layer, static_cast<double>(in * out)});
}

Network NetworkBuilder::finish(ModelInfo info) {
  const auto& linear = std::get<Linear>(network_.nodes.back().operation);
  const Parameter& weight = network_.parameters[static_cast<size_t>(linear.weight)];
  info.channels = images_.channels;
  info.classes = weight.shape.front();
  info.classifier = weight.name;
  for (const Parameter& parameter : network_.parameters) info.parameters += parameter.elements();
  for (const Node& node : network_.nodes) info.multiply_adds += node.multiply_adds;
  info.stages = std::move(stages_);
  network_.info = std::move(info);
  return std::move(network_);
}

}  // namespace shoal::models
