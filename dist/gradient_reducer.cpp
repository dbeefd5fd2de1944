// c10d's Reducer hooks into the gradient accumulation of each parameter. It copies the gradients
// into buckets and starts an all-reduce when a bucket is complete. At the end of backward it waits
// and copies the averages back into the memory of .grad (a view into a flat buffer).
//
// In its first step, the Reducer fills buckets in parameter order. In later steps, it fills them in
// the order in which the gradients of the first step arrived. So the first step would sum in
// another order than the others. The constructor therefore runs one backward through the sum of
// 0 * parameter. For any model, the gradients of this sum are exactly zero and arrive from the last
// layer to the first. This costs one all-reduce of the gradients and leaves them zero.
//
// A communication hook replaces the built-in all-reduce, so that errors name the rank and the
// operation.

#include "dist/gradient_reducer.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "dist/group_state.h"
#include "dist/health/verify.h"

namespace shoal::dist {

namespace {

using Clock = std::chrono::steady_clock;

class AverageHook : public c10d::CppCommHookInterface<std::shared_ptr<GroupState>> {
 public:
  // Sets `started`, which must outlive the hook, to the time at which the last bucket was complete.
  AverageHook(std::shared_ptr<GroupState> state, Clock::time_point& started)
      : CppCommHookInterface(std::move(state)), started_(started) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    const auto start = started_ = Clock::now();
    std::vector<at::Tensor> list = {bucket.getBufferRef()};
    c10d::AllreduceOptions options;
    options.reduceOp = c10d::ReduceOp::AVG;
    auto done = state_->process_group->allreduce(list, options)->getFuture();
    if (state_->nccl) return done;  // NCCL's watchdog reports errors by ending the process
    return done->then(
        [state = state_, start,
         index = bucket.getIndex()](c10::ivalue::Future& future) -> c10::IValue {
          try {
            return future.value();
          } catch (const std::exception& error) {
            state->abandoned = true;
            throw std::runtime_error(describe_failure(
                *state, "averaging gradients (bucket " + std::to_string(index) + ")", start,
                error));
          }
        },
        done->elementType());
  }

 private:
  Clock::time_point& started_;
};

std::shared_ptr<c10d::Reducer> make_reducer(const GroupState& state,
                                            const std::vector<at::Tensor>& parameters,
                                            const ReducerOptions& options) {
  const std::vector<bool> sparse(parameters.size(), false);
  auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(
      parameters,
      {static_cast<size_t>(options.first_bucket_bytes), static_cast<size_t>(options.bucket_bytes)},
      sparse);
  std::reverse(buckets.begin(), buckets.end());
  return std::make_shared<c10d::Reducer>(
      parameters, buckets, state.process_group, sparse, options.bucket_bytes,
      /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/false,
      std::unordered_map<size_t, std::string>{}, options.first_bucket_bytes,
      /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
      /*bucket_bytes_cap_list=*/std::vector<int64_t>{});
}

// Checks that all ranks have parameters of the same shapes. Otherwise they would hang or average
// unrelated gradients.
void check_parameters(const Group& group, const std::vector<at::Tensor>& parameters) {
  if (parameters.empty())
    throw std::invalid_argument("GradientReducer needs at least one parameter");
  std::vector<at::Tensor> shapes;
  for (const at::Tensor& parameter : parameters) {
    if (!parameter.requires_grad() || !parameter.is_leaf() || !parameter.grad().defined())
      throw std::invalid_argument("parameter " + std::to_string(shapes.size()) +
                                  " must be a leaf that requires a gradient and has one");
    shapes.push_back(at::empty({parameter.dim() + 1}, at::kLong));
    int64_t* values = shapes.back().mutable_data_ptr<int64_t>();
    *values++ = static_cast<int64_t>(parameter.scalar_type());
    for (int64_t size : parameter.sizes()) *values++ = size;
  }
  try {
    verify_equal(group, shapes, "the list of the parameters' shapes");
  } catch (const std::runtime_error& error) {
    if (group.state()->abandoned) throw;
    throw std::invalid_argument(error.what());
  }
}

}  // namespace

struct GradientReducer::Impl {
  std::shared_ptr<GroupState> state;
  std::vector<at::Tensor> parameters;
  Clock::time_point last_bucket;  // time at which the last bucket was complete
  std::shared_ptr<c10d::Reducer> reducer;
  bool synchronizing = false;

  void prepare() {
    reducer->prepare_for_forward();
    reducer->prepare_for_backward({});
    synchronizing = true;
  }

  // Makes the Reducer choose its final buckets now, by one backward pass with zero gradients (see
  // the top of this file).
  void fix_buckets() {
    prepare();
    c10::AutoGradMode enable(true);
    at::Tensor sum;
    for (const at::Tensor& parameter : parameters) {
      const at::Tensor term = parameter.sum() * 0;
      sum = sum.defined() ? sum + term : term;
    }
    sum.backward();
    guarded(*state, "agreeing on gradient buckets", [&] { reducer->rebuild_buckets(); });
    synchronizing = false;
  }
};

GradientReducer::GradientReducer(const Group& group, std::vector<at::Tensor> parameters,
                                 const ReducerOptions& options) {
  if (group.size() == 1) return;
  check_parameters(group, parameters);
  impl_ = std::make_unique<Impl>();
  impl_->state = group.state();
  impl_->reducer = make_reducer(*impl_->state, parameters, options);
  impl_->reducer->register_comm_hook(
      std::make_unique<AverageHook>(impl_->state, impl_->last_bucket));
  impl_->parameters = std::move(parameters);
  impl_->fix_buckets();
}

GradientReducer::~GradientReducer() {
  if (impl_ && impl_->synchronizing) impl_->state->abandoned = true;
}

void GradientReducer::prepare(bool synchronize) {
  if (impl_ && synchronize) impl_->prepare();
}

double GradientReducer::finish() {
  if (!impl_) return 0;
  if (!impl_->synchronizing)
    throw std::logic_error(
        "GradientReducer::finish: prepare(true) was not called before the last forward");
  try {
    impl_->reducer->check_finalized();
  } catch (const std::exception&) {
    throw std::logic_error(
        "backward did not reach every parameter, so gradients were not averaged over the ranks");
  }
  impl_->synchronizing = false;
  return std::chrono::duration<double>(Clock::now() - impl_->last_bucket).count();
}

}  // namespace shoal::dist
