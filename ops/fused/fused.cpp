#include "ops/fused/fused.h"

#include <omp.h>

#include <algorithm>

#include "base/processor.h"

namespace shoal::ops::fused {
namespace {

int64_t items(const Pointwise& op) {
  return item_count(op);
}
int64_t items(const Depthwise& op) {
  return op.images * chunks(padded(op.channels), op.block);
}
int64_t items(const Dense& op) {
  return item_count(op.images, op.out_height, op.item);
}
int64_t items(const MaxPool& op) {
  return op.images;
}
int64_t items(const Stem& op) {
  return op.images * op.out_height;
}
int64_t items(const Join& op) {
  return op.images;
}
int64_t items(const Pool& op) {
  return op.images;
}

// On each thread, clears the thread's sums and calls loop(op, begin, end, scratch) for the
// thread's share [begin, end) of the work items. `all`: number of work items.
template <class Op>
void on_all_threads(void (*loop)(const Op&, int64_t, int64_t, const Scratch&), const Op& op,
                    int64_t all, const Needs& needs, Workspace& workspace) {
#pragma omp parallel num_threads(workspace.threads())
  {
    const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
    if (thread == 0) workspace.set_used(threads);
    Scratch scratch = workspace.of(thread);
    std::fill_n(scratch.sums, needs.sums, 0.0);
    std::fill_n(scratch.d_weights, needs.d_weights, 0.0f);
    if (needs.d_weights == 0) scratch.d_weights = nullptr;
    loop(op, all * thread / threads, all * (thread + 1) / threads, scratch);
  }
}

template <class Op>
void backward(void (*loop)(const Op&, int64_t, int64_t, const Scratch&), const Op& op,
              bool weight_gradient, Workspace& workspace) {
  Needs needs = backward_needs(op);
  if (!weight_gradient) needs.d_weights = 0;
  on_all_threads(loop, op, items(op), needs, workspace);
}

}  // namespace

const Loops& loops(Storage storage) {
  const bool floats = storage == Storage::f32;
#if defined(__x86_64__)
  if (processor().avx512_bf16 && !floats) return avx512_dot::kLoops;
  if (processor().avx512) return floats ? avx512::kLoops : avx512_bf16::kLoops;
  if (processor().avx2) return floats ? avx2::kLoops : avx2_bf16::kLoops;
#endif
  return floats ? portable::kLoops : portable_bf16::kLoops;
}

int64_t Workspace::per_thread() const {
  return padded(needs_.scratch) + padded(2 * needs_.sums) + padded(needs_.d_weights) + kPadding;
}

int64_t Workspace::floats() const {
  return per_thread() * threads_;
}

Scratch Workspace::of(int thread) const {
  float* own = memory_ + thread * per_thread();
  float* sums = own + padded(needs_.scratch);
  return {own, reinterpret_cast<double*>(sums), sums + padded(2 * needs_.sums)};
}

void run(const Pointwise& op, Workspace& w) {
  on_all_threads(w.loops().pointwise, op, items(op), forward_needs(op), w);
}
void run(const Depthwise& op, Workspace& w) {
  on_all_threads(w.loops().depthwise, op, items(op), forward_needs(op), w);
}
void run(const Stem& op, Workspace& w) {
  on_all_threads(w.loops().stem, op, items(op), forward_needs(op), w);
}
void run(const Join& op, Workspace& w) {
  on_all_threads(w.loops().join, op, items(op), {}, w);
}
void run(const Pool& op, Workspace& w) {
  on_all_threads(w.loops().pool, op, items(op), {}, w);
}
void run(const Dense& op, Workspace& w) {
  on_all_threads(w.loops().dense, op, items(op), forward_needs(op), w);
}
void run(const MaxPool& op, Workspace& w) {
  on_all_threads(w.loops().max_pool, op, items(op), forward_needs(op), w);
}
void run_backward(const MaxPool& op, Workspace& w) {
  backward(w.loops().max_pool_backward, op, false, w);
}
void run_weight_gradient(const Dense& op, Workspace& w) {
  Needs needs = backward_needs(op);
  needs.sums = 0;
  on_all_threads(w.loops().dense_weight_gradient, op, items(op), needs, w);
}
void run_input_gradient(const Dense& op, Workspace& w) {
  Needs needs = backward_needs(op);
  needs.d_weights = 0;
  on_all_threads(w.loops().dense_input_gradient, op,
                 item_count(op.images, read_pixels(op).height, op.input_item), needs, w);
}
void run_backward(const Pointwise& op, bool weight_gradient, Workspace& w) {
  backward(w.loops().pointwise_backward, op, weight_gradient, w);
}
void run_backward(const Depthwise& op, bool weight_gradient, Workspace& w) {
  backward(w.loops().depthwise_backward, op, weight_gradient, w);
}
void run_backward(const Stem& op, Workspace& w) {
  backward(w.loops().stem_backward, op, true, w);
}
void run_backward(const Join& op, Workspace& w) {
  backward(w.loops().join_backward, op, false, w);
}
void run_backward(const Pool& op, Workspace& w) {
  backward(w.loops().pool_backward, op, false, w);
}

}  // namespace shoal::ops::fused
