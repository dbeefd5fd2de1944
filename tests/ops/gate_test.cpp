#include <catch2/catch.hpp>

#include "ops/cuda/elements.cuh"
#include "ops/cuda/table.h"
#include "ops/ops.h"
#include "tests/ops/activations.h"

using namespace shoal::ops;
using namespace shoal::ops::testing;

namespace {

struct GateResults {
  Buffer pooled, y, d_gate, dx;
};

GateResults run(const Table& table, Type type, int64_t images, int64_t pixels, int64_t channels) {
  const int64_t n = images * pixels * channels, columns = images * channels;
  const Type stat = statistics(type);
  const Buffer x(type, n, 1), dy(type, n, 2), gate(stat, columns, 3), d_pooled(stat, columns, 4);
  const Gate op{type, images, pixels, channels, x.data(), gate.data()};
  GateResults r{{stat, columns}, {type, n}, {stat, columns}, {type, n}};
  table.pool(op, r.pooled.data(), nullptr);
  table.gate_apply(op, r.y.data(), nullptr);
  table.gate_backward_sums(op, dy.data(), r.d_gate.data(), nullptr);
  table.gate_backward_apply(op, dy.data(), d_pooled.data(), r.dx.data(), nullptr);
  return r;
}

}  // namespace

TEST_CASE("the gate multiplies each image's channels and its gradients are sums over the pixels") {
  const int64_t images = 2, pixels = 5, channels = 3;
  const GateResults r = run(reference(), Type::f64, images, pixels, channels);
  const Buffer x(Type::f64, 30, 1), dy(Type::f64, 30, 2), gate(Type::f64, 6, 3),
      d_pooled(Type::f64, 6, 4);
  for (int64_t n = 0; n < images; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t column = n * channels + c;
      double mean = 0, sum = 0;
      for (int64_t p = 0; p < pixels; ++p) {
        const int64_t i = (n * pixels + p) * channels + c;
        mean += x.get(i) / pixels;
        sum += x.get(i) * dy.get(i);
        CHECK(r.y.get(i) == Approx(x.get(i) * gate.get(column)));
        CHECK(r.dx.get(i) == Approx(dy.get(i) * gate.get(column) + d_pooled.get(column) / pixels));
      }
      CHECK(r.pooled.get(column) == Approx(mean));
      CHECK(r.d_gate.get(column) == Approx(sum));
    }
  }
}

TEST_CASE("CUDA kernels load 16 bytes at once only if all arrays are aligned") {
  alignas(16) const float data[8] = {};
  const auto width = [](int64_t channels, std::initializer_list<const void*> arrays) {
    int result = 0;
    cuda_kernels::with_group_type(Type::f32, channels, arrays,
                                  [&](auto, auto width) { result = decltype(width)::value; });
    return result;
  };
  CHECK(width(8, {data, data + 4, nullptr}) == 4);
  CHECK(width(8, {data, data + 1}) == 1);
  CHECK(width(8, {data + 2}) == 1);
  CHECK(width(6, {data}) == 1);
}

TEST_CASE("the fast loops of the gate equal the plain loops for every type and shape", "[slow]") {
  for (const Type type : {Type::f32, Type::f64, Type::bf16}) {
    for (const auto& [pixels, channels] :
         {std::pair<int64_t, int64_t>{1, 8}, {49, 40}, {196, 96}, {81, 13}, {20000, 32}}) {
      INFO(type_name(type) << " " << pixels << "x" << channels);
      const GateResults want = run(reference(), type, 4, pixels, channels);
      const double sums = type == Type::f64 ? 1e-12 : 2e-5;
      for (const Table* table : {&cpu(), &cuda_twin()}) {
        INFO(table->name);
        const GateResults got = run(*table, type, 4, pixels, channels);
        // A wide tolerance, because the plain loops sum 20,000 values in float.
        CHECK(difference(got.pooled, want.pooled) < 100 * sums);
        CHECK(difference(got.d_gate, want.d_gate) < 100 * sums);
        CHECK(difference(got.y, want.y) < rounding(type));
        CHECK(difference(got.dx, want.dx) < rounding(type));
      }
    }
  }
}
