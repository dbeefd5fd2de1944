// Autograd adds to a parameter's gradient and then calls the parameter's hook. When all gradients
// of a range are complete, the reducer starts to average the range. All ranks start the ranges in
// the same fixed order, even if the gradients complete in another order.

#include "dist/gradients/gradient_reducer.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "base/now.h"
#include "dist/gradients/bf16_average.h"
#include "dist/gradients/gradient_ranges.h"
#include "dist/group_state.h"
#include "dist/health/verify.h"

namespace shoal::dist {

namespace {

// Throws std::invalid_argument unless the gradients are stored one after another in one buffer.
void check_gradients(const std::vector<at::Tensor>& parameters) {
  if (parameters.empty())
    throw std::invalid_argument("GradientReducer needs at least one parameter");
  int64_t end = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& p = parameters[i];
    const std::string name = "parameter " + std::to_string(i);
    if (!p.requires_grad() || !p.is_leaf() || !p.grad().defined())
      throw std::invalid_argument(name + " must be a leaf that requires a gradient and has one");
    const at::Tensor &gradient = p.grad(), &first = parameters[0].grad();
    if (gradient.storage().data() != first.storage().data() ||
        gradient.scalar_type() != first.scalar_type() || gradient.storage_offset() < end ||
        !gradient.is_non_overlapping_and_dense())
      throw std::invalid_argument(name +
                                  " must have its gradient in the same buffer as the others, " +
                                  "after the previous one");
    end = gradient.storage_offset() + gradient.numel();
  }
}

// Checks that all ranks have parameters of the same shapes and dtypes. Otherwise ranks would hang
// or average unrelated gradients.
void check_equal(const Group& group, const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> shapes;
  for (const at::Tensor& parameter : parameters) {
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
  // Consecutive parameters whose gradients are averaged together.
  struct Range {
    at::Tensor gradients;  // 1-D view of the buffer
    size_t parameters = 0;
    size_t incomplete = 0;                          // incomplete gradients in this step
    c10::intrusive_ptr<c10d::Work> work = {};       // the all-reduce that is running, if any
    std::unique_ptr<Bf16Average> in_bfloat16 = {};  // null: all-reduce in the gradients' dtype
  };

  std::shared_ptr<GroupState> state;
  std::vector<at::Tensor> parameters;
  // Autograd's accumulation function of each parameter, and the key of its hook. Without a
  // reference, autograd would free the function.
  std::vector<std::pair<std::shared_ptr<torch::autograd::Node>, uintptr_t>> hooks;
  std::vector<size_t> range_of;  // index of each parameter's range
  std::vector<Range> ranges;
  std::vector<bool> is_complete;  // by parameter
  size_t next = 0;                // the range to start next
  double waited = 0;              // seconds that backward waited for other ranks, in this step
  bool synchronizing = false;

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    for (const auto& [accumulator, key] : hooks) accumulator->del_post_hook(key);
  }

  // Whether the gradients are averaged over NCCL.
  bool uses_nccl() const { return parameters[0].grad().is_cuda() && state->nccl; }

  // Divides the parameters into ranges, from the last one to the first.
  void divide(std::optional<int64_t> range_bytes) {
    const at::Tensor& any = parameters[0].grad();  // all are in the same buffer
    const int64_t bytes = any.element_size();
    std::vector<GradientPlace> places;
    for (const at::Tensor& parameter : parameters) {
      const int64_t begin = parameter.grad().storage_offset() * bytes;
      places.push_back({begin, begin + parameter.grad().numel() * bytes});
    }
    const int64_t total = places.back().end - places.front().begin;
    const int64_t least = range_bytes.value_or(least_range_bytes(total, uses_nccl()));
    range_of.resize(parameters.size());
    size_t end = parameters.size();
    for (const size_t begin : range_starts(places, least)) {
      const int64_t start = places[begin].begin / bytes, stop = places[end - 1].end / bytes;
      std::fill(range_of.begin() + static_cast<std::ptrdiff_t>(begin),
                range_of.begin() + static_cast<std::ptrdiff_t>(end), ranges.size());
      ranges.push_back({any.as_strided({stop - start}, {1}, start), end - begin});
      end = begin;
    }
  }

  void average_in_bfloat16() {
    std::optional<c10::Stream> stream;
    if (const at::Device device = ranges[0].gradients.device(); uses_nccl())
      stream = c10::impl::VirtualGuardImpl(device.type())
                   .getStreamFromGlobalPool(device, /*isHighPriority=*/true);
    for (Range& range : ranges)
      range.in_bfloat16 = std::make_unique<Bf16Average>(*state, range.gradients, stream);
  }

  void add_hooks() {
    for (size_t i = 0; i < parameters.size(); ++i) {
      auto accumulator = torch::autograd::impl::grad_accumulator(parameters[i]);
      using torch::autograd::variable_list;
      const uintptr_t key =
          accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
              [this, i](const variable_list& outputs, const variable_list&) {
                complete(i);
                return outputs;
              }));
      hooks.emplace_back(std::move(accumulator), key);
    }
  }

  void prepare() {
    for (Range& range : ranges) range.incomplete = range.parameters;
    is_complete.assign(parameters.size(), false);
    next = 0;
    waited = 0;
    synchronizing = true;
  }

  void complete(size_t index) {
    if (!synchronizing || is_complete.at(index)) return;
    is_complete[index] = true;
    --ranges[range_of[index]].incomplete;
    for (; next < ranges.size() && ranges[next].incomplete == 0; ++next) {
      start(ranges[next]);
      if (ranges[next].in_bfloat16 && next >= kRangesAhead)
        waited += send_mean(next - kRangesAhead);
    }
  }

  void start(Range& range) {
    const double start = now();
    try {
      if (range.in_bfloat16) return range.in_bfloat16->send_copies();
      std::vector<at::Tensor> list = {range.gradients};
      c10d::AllreduceOptions options;
      options.reduceOp = c10d::ReduceOp::AVG;
      range.work = state->backend_for(range.gradients).allreduce(list, options);
    } catch (const std::exception& error) {
      state->abandoned = true;
      throw std::runtime_error(describe_failure(*state, "averaging gradients", start, error));
    }
  }

  static std::string name_of(size_t index) {
    return "averaging gradients (range " + std::to_string(index) + ")";
  }

  // Returns the seconds that it waited for the copies of other ranks.
  double send_mean(size_t index) {
    const double start = now();
    guarded(*state, name_of(index), [&] { ranges[index].in_bfloat16->send_mean(); });
    return now() - start;
  }

  // Ends the averaging of a range whose all-reduce or send_mean() has started. Call it for the
  // ranges in order.
  void end(size_t index) {
    Range& range = ranges[index];
    if (range.in_bfloat16) {
      range.in_bfloat16->finish();
    } else {
      range.work->wait();
      range.work.reset();
    }
  }
};

GradientReducer::GradientReducer(const Group& group, std::vector<at::Tensor> parameters,
                                 const ReducerOptions& options) {
  if (group.size() == 1) return;
  check_gradients(parameters);
  check_equal(group, parameters);
  impl_ = std::make_unique<Impl>();
  impl_->state = group.state();
  impl_->parameters = std::move(parameters);
  impl_->divide(options.range_bytes);
  if (options.bf16) impl_->average_in_bfloat16();
  impl_->add_hooks();
}

GradientReducer::~GradientReducer() {
  if (impl_ && impl_->synchronizing) impl_->state->abandoned = true;
}

void GradientReducer::prepare(bool synchronize) {
  if (impl_ && synchronize) impl_->prepare();
}

void GradientReducer::complete(size_t index) {
  if (impl_) impl_->complete(index);
}

double GradientReducer::finish() {
  if (!impl_) return 0;
  if (!impl_->synchronizing)
    throw std::logic_error(
        "GradientReducer::finish: prepare(true) was not called before the last forward");
  if (impl_->next < impl_->ranges.size())
    throw std::logic_error(
        "backward did not reach every parameter, so gradients were not averaged over the ranks");
  const double start = now();
  const size_t count = impl_->ranges.size();
  for (size_t i = count - std::min(kRangesAhead, count); i < count; ++i)
    if (impl_->ranges[i].in_bfloat16) impl_->send_mean(i);
  for (size_t i = 0; i < count; ++i)
    guarded(*impl_->state, Impl::name_of(i), [&] { impl_->end(i); });
  impl_->synchronizing = false;
  return impl_->waited + now() - start;
}

}  // namespace shoal::dist
