#include "train/weights/onnx/onnx_preprocessing.h"

#include <vector>

namespace shoal::train {
namespace {

using Values = std::vector<int64_t>;

// The dimensions of N×C×H×W.
constexpr int64_t kRows = 2, kColumns = 3;

class Preprocessing {
 public:
  Preprocessing(OnnxGraph& graph, const data::TransformOptions& options)
      : graph_(graph), options_(options) {}

  // uint8 N×H×W×C → float32 N×C×size×size
  std::string run(const std::string& images) {
    const std::string pixels = graph_.node("Transpose", {images}, {{"perm", Values{0, 3, 1, 2}}});
    std::string x = graph_.node("Cast", {pixels}, {{"to", static_cast<int64_t>(OnnxType::f32)}});
    const std::string size = resized_size(x);
    x = resized(x, at(size, 1), kColumns);
    x = resized(x, at(size, 0), kRows);
    x = options_.eval_resize < options_.eval_size ? padded(x, size) : x;
    return normalized(cropped(x, size));
  }

 private:
  std::string at(const std::string& values, int64_t index) {
    return graph_.node("Slice", {values, graph_.integers({index}), graph_.integers({index + 1})});
  }

  // Returns height and width after the resize: side * eval_resize / shorter side, rounded down.
  std::string resized_size(const std::string& x) {
    const std::string size = graph_.node("Shape", {x}, {{"start", kRows}});
    const std::string shorter = graph_.node("ReduceMin", {size});
    const std::string scaled = graph_.node("Mul", {size, graph_.integers({options_.eval_resize})});
    return graph_.node("Div", {scaled, shorter});
  }

  // Resizes one dimension and rounds to 8 bits. Rounds halves up, like Pillow; ONNX's Round would
  // round them to even.
  std::string resized(const std::string& x, const std::string& size, int64_t dimension) {
    const bool bicubic = options_.interpolation == data::Interpolation::bicubic;
    const std::string smooth = graph_.node("Resize", {x, "", "", size},
                                           {{"axes", Values{dimension}},
                                            {"mode", bicubic ? "cubic" : "linear"},
                                            {"cubic_coeff_a", -0.5F},
                                            {"antialias", int64_t{1}},
                                            {"exclude_outside", int64_t{1}},
                                            {"coordinate_transformation_mode", "half_pixel"}});
    const std::string rounded =
        graph_.node("Floor", {graph_.node("Add", {smooth, graph_.scalar(0.5F)})});
    return graph_.node("Clip", {rounded, graph_.scalar(0.0F), graph_.scalar(255.0F)});
  }

  // Adds black borders where the image is smaller than the crop. If the number of missing rows or
  // columns is odd, the additional one is below or on the right.
  std::string padded(const std::string& x, const std::string& size) {
    const std::string crop = graph_.integers({options_.eval_size});
    const std::string missing =
        graph_.node("Max", {graph_.node("Sub", {crop, size}), graph_.integers({0})});
    const std::string before = graph_.node("Div", {missing, graph_.integers({2})});
    const std::string after = graph_.node("Sub", {missing, before});
    const std::string pads = graph_.node("Concat", {before, after}, {{"axis", int64_t{0}}});
    return graph_.node("Pad", {x, pads, graph_.scalar(0.0F), graph_.integers({kRows, kColumns})});
  }

  // Cuts out the center. If the offset of the crop ends in .5, rounds it to even, like Python's
  // round().
  std::string cropped(const std::string& x, const std::string& size) {
    const std::string side = graph_.integers({options_.eval_size});
    const std::string excess =
        graph_.node("Max", {graph_.node("Sub", {size, side}), graph_.integers({0})});
    const std::string real =
        graph_.node("Cast", {excess}, {{"to", static_cast<int64_t>(OnnxType::f32)}});
    const std::string middle =
        graph_.node("Round", {graph_.node("Mul", {real, graph_.scalar(0.5F)})});
    const std::string first =
        graph_.node("Cast", {middle}, {{"to", static_cast<int64_t>(OnnxType::i64)}});
    const std::string last = graph_.node("Add", {first, side});
    const std::string crop =
        graph_.node("Slice", {x, first, last, graph_.integers({kRows, kColumns})});
    // Makes the shape known to runtimes. The 0 keeps the batch size of `crop`.
    return graph_.node(
        "Reshape",
        {crop, graph_.integers({0, options_.channels, options_.eval_size, options_.eval_size})});
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
