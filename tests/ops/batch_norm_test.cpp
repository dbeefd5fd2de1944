#include <omp.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/cpu/activations.h"
#include "ops/cuda/table.h"
#include "ops/ops.h"
#include "tests/ops/activations.h"

using namespace shoal::ops;
using shoal::ops::cpu_kernels::NormRows;
using namespace shoal::ops::testing;

namespace {

// All results of a batch norm, computed with one implementation of the operations (ops::Table).
struct Results {
  Buffer y, dx, d_residual;
  std::vector<double> sums, backward_sums;
  Buffer d_weight, d_bias;
};

struct Case {
  Type type;
  Activation activation;
  int64_t rows, channels;
  bool residual;
  // The number of rows from which mean and variance were computed, divided by `rows`. Negative:
  // they are constants.
  double count_factor;
  int64_t not_a_number = -1;  // index of the element of x that is NaN; -1: none
};

Results run(const Table& table, const Case& c) {
  const int64_t n = c.rows * c.channels;
  const Type stat = statistics(c.type);
  Buffer x(c.type, n, 1, 1.0, 0.3);
  if (c.not_a_number >= 0) x.set(c.not_a_number, NAN);
  const Buffer residual(c.type, n, 2), dy(c.type, n, 3);
  const Buffer mean(stat, c.channels, 4, 0.2), inv_std(stat, c.channels, 5, 0.2, 1),
      weight(stat, c.channels, 6, 0.3, 1);
  const Buffer bias(stat, c.channels, 7, 0.3);
  const BatchNorm op{.type = c.type,
                     .activation = c.activation,
                     .rows = c.rows,
                     .channels = c.channels,
                     .x = x.data(),
                     .residual = c.residual ? residual.data() : nullptr,
                     .mean = mean.data(),
                     .inv_std = inv_std.data(),
                     .weight = weight.data(),
                     .bias = bias.data()};
  Results r{{c.type, n},
            {c.type, n},
            {c.type, n},
            std::vector<double>(2 * c.channels + 1, NAN),
            std::vector<double>(2 * c.channels, NAN),
            {stat, c.channels, 8},
            {stat, c.channels, 9}};
  table.batch_norm_sums(c.type, x.data(), c.rows, c.channels, r.sums.data(), nullptr, nullptr);
  table.batch_norm_apply(op, r.y.data(), nullptr);
  table.batch_norm_backward_sums(op, dy.data(), r.backward_sums.data(),
                                 {r.d_weight.data(), r.d_bias.data(), c.residual}, nullptr);
  const double count = c.count_factor * static_cast<double>(c.rows);
  table.batch_norm_backward_apply(op, dy.data(), r.backward_sums.data(),
                                  count < 0 ? nullptr : &count, r.dx.data(),
                                  c.residual ? r.d_residual.data() : nullptr, nullptr);
  return r;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0, scale = 1e-30;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(a[i] - b[i]);
    worst = std::isnan(d) ? INFINITY : std::max(worst, d);
    scale = std::max(scale, std::abs(b[i]));
  }
  return worst / scale;
}

double silu(double z) {
  return z / (1 + std::exp(-z));
}

// Arguments and outputs of a batch norm for the loops of one instruction set.
struct Rows {
  static constexpr int64_t kRows = 133, kChannels = 40, kSize = kRows * kChannels;
  Type type;
  Buffer x{type, kSize, 1}, dy{type, kSize, 2}, y{type, kSize}, dx{type, kSize};
  Buffer scale{Type::f32, kChannels, 3}, shift{Type::f32, kChannels, 4};
  std::vector<double> sums = std::vector<double>(2 * kChannels, 0.0);

  void run(const cpu_kernels::ActivationLoops& loops, Activation activation) {
    NormRows op{};
    op.activation = activation;
    op.rows = kRows;
    op.channels = kChannels;
    op.x = x.data();
    op.dy = dy.data();
    op.y = y.data();
    op.dx = dx.data();
    op.scale = op.slope = static_cast<const float*>(scale.data());
    op.shift = op.offset = op.mean = static_cast<const float*>(shift.data());
    loops.norm_apply(op);
    loops.norm_backward_sums(op, sums.data());
    loops.norm_backward_apply(op);
  }
};

// Fails if element i differs by more than 4 * kEpsilon * `terms` plus one rounding step of the
// storage type. `terms`: the magnitude of the terms that were added for this element.
void check_close(const Buffer& got, const Buffer& want, int64_t i, double terms) {
  constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
  const double a = got.get(i), b = want.get(i);
  const double step = want.type == Type::bf16 ? std::max(std::abs(a), std::abs(b)) / 128 : 0;
  INFO(type_name(want.type) << " element " << i << ": " << a << " against " << b);
  REQUIRE(std::abs(a - b) <= 4 * kEpsilon * terms + step);
}

}  // namespace

TEST_CASE("the fast loops of batch norm equal the plain loops for every type, activation and shape",
          "[slow]") {
  for (const Type type : {Type::f32, Type::f64, Type::bf16}) {
    for (const Activation activation : {Activation::none, Activation::relu, Activation::relu6,
                                        Activation::silu, Activation::hard_swish}) {
      for (const auto& [rows, channels] : {std::pair<int64_t, int64_t>{1, 8},
                                           {7, 24},
                                           {67, 96},
                                           {1000, 40},
                                           {129, 13},
                                           {700, 264}}) {
        for (const bool residual : {false, true}) {
          for (const double count : {1.0, 2.5, -1.0}) {
            const Case c{type, activation, rows, channels, residual, count};
            INFO(type_name(type) << " activation " << static_cast<int>(activation) << " " << rows
                                 << "x" << channels << (residual ? " with residual" : "")
                                 << " count " << count);
            const Results want = run(reference(), c);
            const double tolerance = rounding(type);
            for (const Table* table : {&cpu(), &cuda_twin()}) {
              INFO(table->name);
              const Results got = run(*table, c);
              CHECK(largest_difference(got.sums, want.sums) < 2e-6);
              CHECK(got.sums.back() == static_cast<double>(rows));
              CHECK(largest_difference(got.backward_sums, want.backward_sums) < 1e-5);
              CHECK(difference(got.d_weight, want.d_weight) < 1e-5);
              CHECK(difference(got.d_bias, want.d_bias) < 1e-5);
              CHECK(difference(got.y, want.y) < tolerance);
              CHECK(difference(got.dx, want.dx) < tolerance);
              if (residual) CHECK(difference(got.d_residual, want.d_residual) < tolerance);
            }
          }
        }
      }
    }
  }
}

// The AVX2 loops round less often, because they use fused multiply-add, and they approximate 1 / x.
// So with SiLU, an element differs by up to 2.5 float epsilons times the magnitude of the terms
// that are added for it. In sums over the rows, differences mostly cancel: 0.2 epsilons remain.
TEST_CASE("the portable loops equal the AVX2 loops up to four epsilons of the terms of each sum") {
  for (const Type type : {Type::f32, Type::bf16}) {
    for (const Activation activation : {Activation::none, Activation::relu, Activation::relu6,
                                        Activation::silu, Activation::hard_swish}) {
      INFO("activation " << static_cast<int>(activation));
      Rows plain{type}, fast{type};
      plain.run(cpu_kernels::portable::kActivationLoops[type == Type::f32 ? 0 : 1], activation);
      fast.run(*cpu_kernels::activation_loops(type, Rows::kChannels), activation);
      std::vector<double> terms(2 * Rows::kChannels, 0.0);
      for (int64_t i = 0; i < Rows::kSize; ++i) {
        const int64_t c = i % Rows::kChannels;
        const double dy = std::abs(plain.dy.get(i)), shift = plain.shift.get(c);
        const double input = std::abs(plain.x.get(i) * plain.scale.get(c)) + std::abs(shift);
        check_close(fast.y, plain.y, i, input);
        check_close(fast.dx, plain.dx, i, dy * std::abs(plain.scale.get(c)) + input);
        terms[c] += dy;
        terms[Rows::kChannels + c] += dy * std::abs(plain.x.get(i) - shift);
      }
      for (size_t i = 0; i < terms.size(); ++i) {
        INFO("sum " << i);
        CHECK(std::abs(fast.sums[i] - plain.sums[i]) <=
              std::numeric_limits<float>::epsilon() * terms[i]);
      }
    }
  }
}

TEST_CASE("a NaN input makes a NaN output with any activation") {
  const int64_t rows = 9, channels = 16, at = 5 * channels + 3;
  for (const Table* table : {&reference(), &cpu(), &cuda_twin()}) {
    for (const Type type : {Type::f32, Type::f64, Type::bf16}) {
      for (const Activation activation : {Activation::none, Activation::relu, Activation::relu6,
                                          Activation::silu, Activation::hard_swish}) {
        for (const bool residual : {false, true}) {
          INFO(table->name << " " << type_name(type) << " activation "
                           << static_cast<int>(activation) << (residual ? " with residual" : ""));
          const Results r = run(*table, {type, activation, rows, channels, residual, 1.0, at});
          for (int64_t i = 0; i < rows * channels; ++i) {
            REQUIRE(std::isnan(r.y.get(i)) == (i == at));
          }
          CHECK(std::isnan(r.dx.get(at)));
          CHECK(std::isnan(r.sums[3]));
          CHECK(std::isnan(r.backward_sums[channels + 3]));
          CHECK_FALSE(std::isnan(r.sums[4]));
        }
      }
    }
  }
}

TEST_CASE("the portable loops and those for this processor propagate NaN in the same way") {
  for (const Type type : {Type::f32, Type::bf16}) {
    for (const auto* loops : {&cpu_kernels::portable::kActivationLoops[type == Type::f32 ? 0 : 1],
                              cpu_kernels::activation_loops(type, Rows::kChannels)}) {
      for (const Activation activation : {Activation::none, Activation::relu, Activation::relu6,
                                          Activation::silu, Activation::hard_swish}) {
        INFO(type_name(type) << " activation " << static_cast<int>(activation));
        Rows rows{type};
        const int64_t at = 7 * Rows::kChannels + 11;
        rows.x.set(at, NAN);
        rows.run(*loops, activation);
        for (int64_t i = 0; i < Rows::kSize; ++i) {
          REQUIRE(std::isnan(rows.y.get(i)) == (i == at));
          REQUIRE(std::isnan(rows.dx.get(i)) == (i == at));
        }
      }
    }
  }
}

TEST_CASE("sums and statistics in one call equal those of two calls") {
  struct Statistics {
    Buffer mean{Type::f32, 264}, inv_std{Type::f32, 264}, pending{Type::f32, 528, 9};
  };
  for (const Table* table : {&reference(), &cpu(), &cuda_twin()}) {
    for (const auto& [rows, channels] :
         {std::pair<int64_t, int64_t>{1, 8}, {700, 264}, {129, 13}}) {
      INFO(table->name << " " << rows << "x" << channels);
      const Buffer x(Type::bf16, rows * channels, 1, 1.0, 0.3);
      std::vector<double> sums(2 * channels + 1);
      const auto finish = [&](Statistics& s) {
        return BatchNormFinish{Type::bf16, channels,      sums.data(),      1e-3,
                               0.1,        s.mean.data(), s.inv_std.data(), s.pending.data()};
      };
      Statistics one, two;
      const BatchNormFinish at_once = finish(one);
      table->batch_norm_sums(Type::bf16, x.data(), rows, channels, sums.data(), &at_once, nullptr);
      table->batch_norm_sums(Type::bf16, x.data(), rows, channels, sums.data(), nullptr, nullptr);
      table->batch_norm_finish(finish(two), nullptr);
      CHECK(one.mean.storage == two.mean.storage);
      CHECK(one.inv_std.storage == two.inv_std.storage);
      CHECK(one.pending.storage == two.pending.storage);
      CHECK(one.pending.storage != Statistics().pending.storage);
    }
  }
}

TEST_CASE("statistics of NaN sums are NaN") {
  for (const Table* table : {&reference(), &cpu(), &cuda_twin()}) {
    const double sums[] = {NAN, NAN, 10};
    float mean = 0, inv_std = 0, pending[2] = {};
    table->batch_norm_finish({Type::f32, 1, sums, 1e-3, 0.1, &mean, &inv_std, pending}, nullptr);
    for (const float value : {mean, inv_std, pending[0], pending[1]}) CHECK(std::isnan(value));
  }
}

TEST_CASE("batch norm in float64 equals its formula, its gradient equals the difference quotient") {
  const int64_t rows = 9, channels = 3;
  const Buffer x0(Type::f64, rows * channels, 1), residual(Type::f64, rows * channels, 2);
  const Buffer dy(Type::f64, rows * channels, 3), weight(Type::f64, channels, 4),
      bias(Type::f64, channels, 5);
  const double eps = 1e-3, momentum = 0.2;

  struct Forward {
    Buffer mean{Type::f64, 3}, inv_std{Type::f64, 3}, pending{Type::f64, 6}, y{Type::f64, 27};
    double loss = 0;
  };
  const auto operation = [&](const Buffer& x, const Forward& f) {
    return BatchNorm{Type::f64,     Activation::silu, rows,          channels,
                     x.data(),      residual.data(),  f.mean.data(), f.inv_std.data(),
                     weight.data(), bias.data()};
  };
  const auto forward = [&](const Buffer& x) {
    Forward f;
    std::vector<double> sums(2 * channels + 1);
    const BatchNormFinish finish{Type::f64, channels,      sums.data(),      eps,
                                 momentum,  f.mean.data(), f.inv_std.data(), f.pending.data()};
    reference().batch_norm_sums(Type::f64, x.data(), rows, channels, sums.data(), &finish, nullptr);
    reference().batch_norm_apply(operation(x, f), f.y.data(), nullptr);
    for (int64_t i = 0; i < f.y.size; ++i) f.loss += f.y.get(i) * dy.get(i);
    return f;
  };

  const Forward f = forward(x0);
  for (int64_t c = 0; c < channels; ++c) {
    double mean = 0, variance = 0;
    for (int64_t r = 0; r < rows; ++r) mean += x0.get(r * channels + c) / rows;
    for (int64_t r = 0; r < rows; ++r)
      variance += std::pow(x0.get(r * channels + c) - mean, 2) / rows;
    CHECK(f.mean.get(c) == Approx(mean).margin(1e-14));
    CHECK(f.inv_std.get(c) == Approx(1 / std::sqrt(variance + eps)));
    CHECK(f.pending.get(c) == Approx(momentum * mean).margin(1e-14));
    CHECK(f.pending.get(channels + c) == Approx(momentum * variance * rows / (rows - 1)));
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t i = r * channels + c;
      const double z = (x0.get(i) - mean) / std::sqrt(variance + eps) * weight.get(c) +
                       bias.get(c) + residual.get(i);
      CHECK(f.y.get(i) == Approx(silu(z)).margin(1e-13));
    }
  }

  std::vector<double> sums(2 * channels);
  Buffer dx(Type::f64, rows * channels), d_residual(Type::f64, rows * channels);
  reference().batch_norm_backward_sums(operation(x0, f), dy.data(), sums.data(), {}, nullptr);
  const double count = rows;
  reference().batch_norm_backward_apply(operation(x0, f), dy.data(), sums.data(), &count, dx.data(),
                                        d_residual.data(), nullptr);
  for (int64_t i = 0; i < x0.size; ++i) {
    const double h = 1e-6;
    Buffer up = x0, down = x0;
    up.set(i, x0.get(i) + h);
    down.set(i, x0.get(i) - h);
    CHECK(dx.get(i) == Approx((forward(up).loss - forward(down).loss) / (2 * h)).margin(1e-7));
  }
}

TEST_CASE("the sums keep their precision if the mean is a thousand times the standard deviation") {
  const int64_t rows = 20000, channels = 8;
  const Buffer x(Type::f32, rows * channels, 1, 0.1, 100);
  std::vector<double> want(2 * channels + 1), got(2 * channels + 1);
  reference().batch_norm_sums(Type::f32, x.data(), rows, channels, want.data(), nullptr, nullptr);
  for (const Table* table : {&cpu(), &cuda_twin()}) {
    table->batch_norm_sums(Type::f32, x.data(), rows, channels, got.data(), nullptr, nullptr);
    for (int64_t c = 0; c < channels; ++c) {
      const auto variance = [&](const std::vector<double>& s) {
        return s[channels + c] / rows - std::pow(s[c] / rows, 2);
      };
      CHECK(variance(got) == Approx(variance(want)).epsilon(1e-5));
    }
  }
}

TEST_CASE("SiLU stays finite for large inputs and propagates NaN") {
  const int64_t channels = 8;
  float x[channels] = {-200, 200, -88, 88, 0, NAN, -20, 20};
  const float zeros[channels] = {}, ones[channels] = {1, 1, 1, 1, 1, 1, 1, 1};
  float y[channels], dx[channels];
  BatchNorm op{Type::f32, Activation::silu, 1, channels, x, nullptr, zeros, ones, ones, zeros};
  for (const Table* table : {&cpu(), &cuda_twin()}) {
    table->batch_norm_apply(op, y, nullptr);
    double sums[2 * channels] = {};
    table->batch_norm_backward_apply(op, ones, sums, nullptr, dx, nullptr, nullptr);
    for (int i = 0; i < channels; ++i) {
      INFO(table->name << " " << x[i]);
      if (std::isnan(x[i])) {
        CHECK(std::isnan(y[i]));
        continue;
      }
      CHECK(y[i] == Approx(silu(x[i])).epsilon(1e-6).margin(1e-34));
      const double s = 1 / (1 + std::exp(-static_cast<double>(x[i])));
      CHECK(dx[i] == Approx(s * (1 + x[i] * (1 - s))).epsilon(1e-6).margin(1e-34));
    }
  }
}

TEST_CASE(
    "a large batch norm with non-temporal stores equals the plain loops and repeats bit for bit") {
  const Case c{Type::f32, Activation::silu, 40000, 64, false, 1};
  const Results want = run(reference(), c);
  for (const Table* table : {&cpu(), &cuda_twin()}) {
    INFO(table->name);
    const Results got = run(*table, c), again = run(*table, c);
    CHECK(largest_difference(got.sums, want.sums) < 2e-6);
    CHECK(largest_difference(got.backward_sums, want.backward_sums) < 1e-5);
    CHECK(difference(got.y, want.y) < rounding(c.type));
    CHECK(difference(got.dx, want.dx) < rounding(c.type));
    CHECK(got.sums == again.sums);
    CHECK(got.backward_sums == again.backward_sums);
  }
}
