#include "train/weights/onnx/onnx_preprocessing.h"

#include <vector>

#include "train/weights/onnx/onnx_axis.h"

namespace shoal::train {
namespace {

using Values = std::vector<int64_t>;

class Preprocessing {
 public:
  Preprocessing(OnnxGraph& graph, const data::TransformOptions& options)
      : graph_(graph), options_(options) {}

  // uint8 N×H×W×C → float32 N×C×size×size
  std::string run(const std::string& images) {
    const std::string in =  // height and width
        graph_.node("Shape", {images}, {{"start", int64_t{1}}, {"end", int64_t{3}}});
    const std::string out = resized_size(in);
    const OnnxAxis y = add_axis(graph_, at(in, 0), at(out, 0), options_);
    const OnnxAxis x = add_axis(graph_, at(in, 1), at(out, 1), options_);
    const std::string crop = graph_.choose(
        vertical_first(in, out), OnnxType::u8,
        [&] {
          return transposed(resized(transposed(images, {0, 1, 3, 2}), y, x), {0, 2, 3, 1});
        },
        [&] {
          return transposed(resized(transposed(images, {0, 2, 3, 1}), x, y), {0, 2, 1, 3});
        });
    // Makes the shape known to runtimes. The 0 keeps the batch size of `crop`.
    const std::string known = graph_.node(
        "Reshape",
        {crop, graph_.integers({0, options_.channels, options_.eval_size, options_.eval_size})});
    return normalized(cast(known, OnnxType::f32));
  }

 private:
  std::string cast(const std::string& x, OnnxType type) {
    return graph_.node("Cast", {x}, {{"to", static_cast<int64_t>(type)}});
  }
  std::string transposed(const std::string& x, const Values& order) {
    return graph_.node("Transpose", {x}, {{"perm", order}});
  }
  std::string at(const std::string& values, int64_t index) {
    return graph_.node("Slice", {values, graph_.integers({index}), graph_.integers({index + 1})});
  }

  // Returns height and width after the resize: side * eval_resize / shorter side, rounded down.
  std::string resized_size(const std::string& size) {
    const std::string shorter = graph_.node("ReduceMin", {size});
    const std::string scaled = graph_.node("Mul", {size, graph_.integers({options_.eval_resize})});
    return graph_.node("Div", {scaled, shorter});
  }

  // Returns data::vertical_first(), a bool without dimensions.
  std::string vertical_first(const std::string& in, const std::string& out) {
    const std::string less = graph_.node("Sub", {in, out});
    const std::string rows = at(less, 0), columns = at(less, 1);
    const std::string twice = graph_.node("Mul", {columns, graph_.integers({2})});
    const std::string shrinks = graph_.node("Greater", {rows, graph_.integers({0})});
    const std::string more = graph_.node("Greater", {rows, twice});
    return graph_.node("Squeeze", {graph_.node("And", {shrinks, more})});
  }

  // Resizes a with `first`, then b with `second`: uint8 N×a×C×b → uint8 N×b'×C×a'.
  std::string resized(const std::string& pixels, const OnnxAxis& first, const OnnxAxis& second) {
    return pass(transposed(pass(pixels, first), {0, 3, 2, 1}), second);
  }

  // Resizes the second dimension and rounds to 8 bits: uint8 N×a×C×b → uint8 N×a'×C×b. Products
  // and sums are exact in float64, in any order: they are multiples of 2^-22 below 2^10.
  std::string pass(const std::string& pixels, const OnnxAxis& axis) {
    const OnnxBlocks blocks = onnx_blocks(options_.eval_size);
    const int64_t count = blocks.count * blocks.size, channels = options_.channels;
    const std::string windows =
        graph_.node("Gather", {pixels, axis.pixels}, {{"axis", int64_t{1}}});
    const std::string rows = graph_.node("Reshape", {windows, graph_.integers({0, 0, 0, -1})});
    const std::string sums = graph_.node("MatMul", {axis.weights, cast(rows, OnnxType::f64)});
    const std::string whole =
        graph_.node("Reshape", {sums, graph_.integers({0, count, channels, -1})});
    const std::string shifted = graph_.node("Add", {whole, graph_.scalar(0.5)});
    const std::string clipped =
        graph_.node("Clip", {shifted, graph_.scalar(0.0), graph_.scalar(255.0)});
    const std::string rounded = cast(clipped, OnnxType::u8);  // rounds down
    if (count == options_.eval_size) return rounded;
    return graph_.node("Slice", {rounded, graph_.integers({0}),
                                 graph_.integers({options_.eval_size}), graph_.integers({1})});
  }

  std::string normalized(const std::string& x) {
    const auto per_channel = [&](const char* name, const ChannelValues& values) {
      const std::vector<float> used(values.begin(), values.begin() + options_.channels);
      return graph_.tensor(name, used, {1, options_.channels, 1, 1});
    };
    const std::string unit = graph_.node("Div", {x, graph_.scalar(255.0F)});
    const std::string centered =
        graph_.node("Sub", {unit, per_channel("mean", options_.normalization.mean)});
    return graph_.node("Div", {centered, per_channel("std", options_.normalization.std)});
  }

  OnnxGraph& graph_;
  const data::TransformOptions& options_;
};

}  // namespace

std::string add_preprocessing(OnnxGraph& graph, const OnnxDimension& batch,
                              const data::TransformOptions& evaluation) {
  const std::string images =
      graph.input("images", OnnxType::u8, {batch, "height", "width", evaluation.channels});
  graph.set_scope("preprocessing");
  return Preprocessing(graph, evaluation).run(images);
}

}  // namespace shoal::train
