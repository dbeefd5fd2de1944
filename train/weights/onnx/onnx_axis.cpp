#include "train/weights/onnx/onnx_axis.h"

#include <numeric>
#include <vector>

namespace shoal::train {
namespace {

constexpr double kFraction = 1 << 22;  // Pillow's weights have 22 fractional bits

class AxisWriter {
 public:
  AxisWriter(OnnxGraph& graph, const data::TransformOptions& options)
      : graph_(graph),
        crop_(options.eval_size),
        bicubic_(options.interpolation == data::Interpolation::bicubic) {}

  OnnxAxis run(const std::string& in, const std::string& out) {
    const OnnxBlocks blocks = onnx_blocks(crop_);
    std::vector<int64_t> counted(static_cast<size_t>(blocks.count * blocks.size));
    std::iota(counted.begin(), counted.end(), 0);
    const std::string wanted =
        node("Add", first_pixel(out), graph_.integers(counted, {blocks.count, blocks.size, 1}));
    const std::string pixel = node("Min", at_least_zero(wanted), node("Sub", out, integer(1)));
    const std::string inside = real(node("Equal", wanted, pixel));

    const std::string scale = node("Div", real(in), real(out));
    const std::string stretch = node("Max", scale, graph_.scalar(1.0));
    const std::string support = node("Mul", stretch, graph_.scalar(bicubic_ ? 2.0 : 1.0));
    const std::string center = node("Mul", node("Add", real(pixel), graph_.scalar(0.5)), scale);
    const std::string source = window(in, center, scale, support, blocks.size);

    const std::string offset = node("Add", node("Sub", real(source), center), graph_.scalar(0.5));
    const std::string inverse = node("Div", graph_.scalar(1.0), stretch);
    const std::string filter = filtered(graph_.node("Abs", {node("Mul", offset, inverse)}));
    const std::string sum = node("ReduceSum", filter, integer(-1));
    const std::string weights = rounded(node("Div", filter, sum));
    return {node("Squeeze", source, integer(1)), node("Mul", weights, inside)};
  }

 private:
  std::string node(const char* operation, const std::string& a, const std::string& b) {
    return graph_.node(operation, {a, b});
  }
  std::string integer(int64_t value) { return graph_.integers({value}); }
  std::string cast(const std::string& x, OnnxType type) {
    return graph_.node("Cast", {x}, {{"to", static_cast<int64_t>(type)}});
  }
  std::string real(const std::string& x) { return cast(x, OnnxType::f64); }
  std::string truncated(const std::string& x) { return cast(x, OnnxType::i64); }
  std::string at_least_zero(const std::string& x) { return node("Max", x, integer(0)); }

  // Returns the index, in the resized image, of the crop's first pixel. If the offset of the crop
  // ends in .5, rounds it to even, like Python's round(). If the image is smaller than the crop,
  // returns minus half of the number of missing pixels, rounded towards 0.
  std::string first_pixel(const std::string& out) {
    const std::string excess = at_least_zero(node("Sub", out, integer(crop_)));
    const std::string half = node("Mul", real(excess), graph_.scalar(0.5));
    const std::string missing = at_least_zero(node("Sub", integer(crop_), out));
    return node("Sub", truncated(graph_.node("Round", {half})), node("Div", missing, integer(2)));
  }

  // Returns the indexes of the source pixels that each block reads, blocks×1×window. All blocks
  // have windows of the same size, within the image. A window starts at the first source pixel that
  // the block's first output pixel needs, and is up to 3 pixels longer than needed.
  std::string window(const std::string& in, const std::string& center, const std::string& scale,
                     const std::string& support, int64_t block) {
    const std::string between = node("Mul", scale, graph_.scalar(static_cast<double>(block - 1)));
    const std::string both = node("Mul", support, graph_.scalar(2.0));
    const std::string needed = node("Add", truncated(node("Add", between, both)), integer(3));
    const std::string size = node("Min", in, needed);
    const std::string first_center =
        graph_.node("Slice", {center, integer(0), integer(1), integer(1)});
    const std::string first = at_least_zero(truncated(node("Sub", first_center, support)));
    const std::string start = node("Min", first, node("Sub", in, size));
    const std::string counted = graph_.node(
        "Range",
        {graph_.scalar(int64_t{0}), graph_.node("Squeeze", {size}), graph_.scalar(int64_t{1})});
    return node("Add", start, counted);
  }

  // Returns the filter's value at distance x >= 0 from its center. Each piece of the filter clips x
  // to its range, 0 to 1 or 1 to 2. The pieces are 0 at x = 1 and x = 2, so each adds 0 outside of
  // its range, and pixels outside of the support get 0.
  std::string filtered(const std::string& x) {
    const std::string near = node("Min", x, graph_.scalar(1.0));
    if (!bicubic_) return node("Sub", graph_.scalar(1.0), near);
    const std::string far = graph_.node("Clip", {x, graph_.scalar(1.0), graph_.scalar(2.0)});
    const std::string inner = polynomial(near, {1.5, -2.5, 0, 1});
    const std::string outer = node("Mul", polynomial(far, {1, -5, 8, -4}), graph_.scalar(-0.5));
    return node("Add", inner, outer);
  }

  // Evaluates a polynomial in Horner's form. Skips factors of 1 and terms of 0.
  std::string polynomial(const std::string& x, const std::vector<double>& coefficients) {
    std::string y = x;
    if (coefficients[0] != 1) y = node("Mul", y, graph_.scalar(coefficients[0]));
    for (size_t i = 1; i < coefficients.size(); ++i) {
      if (coefficients[i] != 0) y = node("Add", y, graph_.scalar(coefficients[i]));
      if (i + 1 < coefficients.size()) y = node("Mul", y, x);
    }
    return y;
  }

  // Rounds to multiples of 2^-22. Rounds halves away from zero.
  std::string rounded(const std::string& x) {
    const std::string scaled = node("Mul", x, graph_.scalar(kFraction));
    const std::string half = node("Mul", graph_.node("Sign", {scaled}), graph_.scalar(0.5));
    return node("Mul", real(truncated(node("Add", scaled, half))), graph_.scalar(1 / kFraction));
  }

  OnnxGraph& graph_;
  const int64_t crop_;
  const bool bicubic_;
};

}  // namespace

OnnxBlocks onnx_blocks(int64_t crop) {
  // A compromise between computing with many weights of 0 (large blocks) and reading many source
  // pixels twice, because they are in the windows of two blocks (small blocks).
  constexpr int64_t kSize = 16;
  const int64_t count = (crop + kSize - 1) / kSize;
  return {count, (crop + count - 1) / count};
}

OnnxAxis add_axis(OnnxGraph& graph, const std::string& in, const std::string& out,
                  const data::TransformOptions& options) {
  return AxisWriter(graph, options).run(in, out);
}

}  // namespace shoal::train
