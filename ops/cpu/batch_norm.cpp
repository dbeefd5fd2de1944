// Runs the batch norm loops on all threads. Each thread processes one block of consecutive rows and
// computes its own column sums, which are then added in thread order.

#include <omp.h>

#include <algorithm>
#include <type_traits>

#include "ops/cpu/activations.h"
#include "ops/cpu/kernels.h"
#include "ops/norm_channel.h"
#include "ops/reference/kernels.h"

namespace shoal::ops::cpu_kernels {
namespace {

constexpr int kMaxThreads = 256;

template <class P>
P* at(P* base, int64_t bytes) {
  using Byte = std::conditional_t<std::is_const_v<P>, const char, char>;
  return base ? static_cast<Byte*>(base) + bytes : nullptr;
}

// On each thread, calls work(first row, row count, own), which adds the column sums of these rows
// to the thread's array `own`. Writes the totals over all threads to `sums` (2×channels).
template <class Work>
void sum_columns(int64_t rows, int64_t channels, double* sums, Work work) {
  const double* partial[kMaxThreads];
  const int wanted =
      worth_threads(rows * channels) ? std::min(omp_get_max_threads(), kMaxThreads) : 1;
#pragma omp parallel num_threads(wanted)
  {
    const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
    alignas(64) double own[2 * kMaxChannels];
    std::fill_n(own, 2 * channels, 0.0);
    partial[thread] = own;
    const Share share = share_of(rows, thread, threads);
    if (share.begin < share.end) work(share.begin, share.end - share.begin, own);
#pragma omp barrier
    const Share columns = share_of(2 * channels, thread, threads);
    for (int64_t c = columns.begin; c < columns.end; ++c) {
      double total = 0;
      for (int t = 0; t < threads; ++t) total += partial[t][c];
      sums[c] = total;
    }
#pragma omp barrier  // keeps `own` alive until all threads have read it
  }
}

struct Vectors {
  alignas(64) float scale[kMaxChannels];
  alignas(64) float shift[kMaxChannels];
  alignas(64) float slope[kMaxChannels];
  alignas(64) float offset[kMaxChannels];
};

NormRows prepare(const BatchNorm& op, Vectors& v) {
  const float* mean = static_cast<const float*>(op.mean);
  for (int64_t c = 0; c < op.channels; ++c) {
    const double scale = static_cast<double>(static_cast<const float*>(op.weight)[c]) *
                         static_cast<const float*>(op.inv_std)[c];
    v.scale[c] = static_cast<float>(scale);
    v.shift[c] = static_cast<float>(static_cast<const float*>(op.bias)[c] - mean[c] * scale);
  }
  NormRows rows{};
  rows.activation = op.activation;
  rows.channels = op.channels;
  rows.scale = v.scale;
  rows.shift = v.shift;
  rows.slope = v.slope;
  rows.offset = v.offset;
  rows.mean = mean;
  return rows;
}

// Returns `whole`, restricted to `rows` rows from row `first` on.
NormRows part(const NormRows& whole, const BatchNorm& op, const void* dy, int64_t first,
              int64_t rows) {
  const int64_t bytes = first * op.channels * bytes_per_element(op.type);
  NormRows p = whole;
  p.rows = rows;
  p.x = at(op.x, bytes);
  p.residual = at(op.residual, bytes);
  p.dy = at(dy, bytes);
  p.y = at(whole.y, bytes);
  p.dx = at(whole.dx, bytes);
  p.d_residual = at(whole.d_residual, bytes);
  return p;
}

template <class Work>
void for_each_share(int64_t rows, int64_t channels, Work work) {
#pragma omp parallel if (worth_threads(rows * channels))
  {
    const Share share = share_of(rows, omp_get_thread_num(), omp_get_num_threads());
    if (share.begin < share.end) work(share.begin, share.end - share.begin);
  }
}

}  // namespace

void batch_norm_sums(Type type, const void* x, int64_t rows, int64_t channels, double* sums,
                     const BatchNormFinish* finish, void* stream) {
  const ActivationLoops* loops = activation_loops(type, channels);
  if (!loops)
    return reference_kernels::batch_norm_sums(type, x, rows, channels, sums, finish, stream);
  // The loops sum in float, where Σx² would lose the variance if the mean is large. So they sum
  // differences from the first row. The loop at the end computes Σx and Σx² from them in double.
  double first[2 * kMaxChannels + 1];
  alignas(64) float origin[kMaxChannels];
  reference_kernels::batch_norm_sums(type, x, std::min<int64_t>(rows, 1), channels, first, nullptr,
                                     stream);
  for (int64_t c = 0; c < channels; ++c) origin[c] = static_cast<float>(first[c]);
  sum_columns(rows, channels, sums, [&](int64_t begin, int64_t count, double* own) {
    loops->norm_sums(at(x, begin * channels * bytes_per_element(type)), count, channels, origin,
                     own);
  });
  const double n = static_cast<double>(rows);
  for (int64_t c = 0; c < channels; ++c) {
    const double o = origin[c];
    sums[channels + c] += o * (2 * sums[c] + n * o);
    sums[c] += n * o;
  }
  sums[2 * channels] = n;
  if (finish) reference_kernels::batch_norm_finish(*finish, stream);
}

void batch_norm_apply(const BatchNorm& op, void* y, void* stream) {
  const ActivationLoops* loops = activation_loops(op.type, op.channels);
  if (!loops) return reference_kernels::batch_norm_apply(op, y, stream);
  Vectors vectors;
  NormRows whole = prepare(op, vectors);
  whole.y = y;
  whole.stream = worth_streaming(op.type, op.rows * op.channels, y, y);
  for_each_share(op.rows, op.channels, [&](int64_t first, int64_t rows) {
    loops->norm_apply(part(whole, op, nullptr, first, rows));
  });
}

void batch_norm_backward_sums(const BatchNorm& op, const void* dy, double* sums,
                              const NormGradients& gradients, void* stream) {
  const ActivationLoops* loops = activation_loops(op.type, op.channels);
  if (!loops) return reference_kernels::batch_norm_backward_sums(op, dy, sums, gradients, stream);
  Vectors vectors;
  const NormRows whole = prepare(op, vectors);
  sum_columns(op.rows, op.channels, sums, [&](int64_t first, int64_t rows, double* own) {
    loops->norm_backward_sums(part(whole, op, dy, first, rows), own);
  });
  for (int64_t c = 0; c < op.channels; ++c)
    sums[op.channels + c] *= static_cast<const float*>(op.inv_std)[c];
  for (int64_t c = 0; c < op.channels; ++c)
    store_gradients<float>(gradients, c, sums[c], sums[op.channels + c]);
}

void batch_norm_backward_apply(const BatchNorm& op, const void* dy, const double* sums,
                               const double* count, void* dx, void* d_residual, void* stream) {
  const ActivationLoops* loops = activation_loops(op.type, op.channels);
  if (!loops) {
    return reference_kernels::batch_norm_backward_apply(op, dy, sums, count, dx, d_residual,
                                                        stream);
  }
  Vectors vectors;
  NormRows whole = prepare(op, vectors);
  for (int64_t c = 0; c < op.channels; ++c) {
    const double inv_std = static_cast<const float*>(op.inv_std)[c];
    const double scale = static_cast<const float*>(op.weight)[c] * inv_std;
    const double slope = count ? -scale * inv_std * sums[op.channels + c] / *count : 0;
    const double offset = count ? -scale * sums[c] / *count : 0;
    vectors.slope[c] = static_cast<float>(slope);
    vectors.offset[c] = static_cast<float>(offset - slope * static_cast<const float*>(op.mean)[c]);
  }
  whole.dx = dx;
  whole.d_residual = d_residual;
  whole.stream = worth_streaming(op.type, op.rows * op.channels, dx, d_residual);
  for_each_share(op.rows, op.channels, [&](int64_t first, int64_t rows) {
    loops->norm_backward_apply(part(whole, op, dy, first, rows));
  });
}

}  // namespace shoal::ops::cpu_kernels
