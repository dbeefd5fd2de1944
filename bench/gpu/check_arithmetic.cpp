// Compares the results of training steps and operations on a GPU with the CPU's. Also checks that
// two processes that share a GPU average their gradients.

#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>

#include "bench/gpu/first_light.h"
#include "dist/connect.h"

namespace shoal::bench {

bool step_check(const Place& where, const std::string& model) {
  Report report("step " + model);
  compute_exactly();
  StepOptions options;
  options.model = model;
  options.batch = 8;
  options.size = 64;
  options.type = at::kDouble;
  SyntheticStep want(options);
  options.device = where.device;
  SyntheticStep exact(options);
  want.enqueue(), exact.enqueue();
  report.below("f64_loss", std::abs(exact.loss() / want.loss() - 1), 1e-10);
  report.below("f64_gradients",
               relative_difference(exact.parameters().gradients(), want.parameters().gradients()),
               1e-8);
  report.below("f64_statistics",
               relative_difference(exact.statistics().running(), want.statistics().running()),
               1e-10);
  const at::Tensor gradients = want.parameters().gradients().to(at::kCPU).clone();
  want.enqueue(), exact.enqueue();
  report.below("f64_parameters_after_two",
               relative_difference(exact.parameters().flat(), want.parameters().flat()), 1e-8);
  options.type = at::kFloat;
  SyntheticStep plain(options);
  plain.differentiate();
  report.below("f32_gradients", relative_difference(plain.parameters().gradients(), gradients),
               1e-3);
  options.copy_type = at::kBFloat16;
  SyntheticStep narrow(options);
  narrow.differentiate();
  report.below("bf16_gradients", relative_difference(narrow.parameters().gradients(), gradients),
               0.5);
  report.below("bf16_loss", std::abs(narrow.loss() - plain.loss()), 0.05);
  return report.print();
}

// Compares batch preparation and EMA with the reference implementation, and three steps of each
// optimizer with three steps on the CPU.
bool operations_check(const Place& where) {
  Report report("operations");
  at::manual_seed(3);
  const ops::Table& table = where.plugin ? *ops::gpu() : ops::cpu();
  void* const stream = models::stream_of(where.device);

  constexpr int64_t kImages = 4, kSide = 33, kValues = kSide * kSide * 3;
  const at::Tensor images =
      at::randint(0, 256, {kImages, kSide, kSide, 3}, at::TensorOptions().dtype(at::kByte));
  std::vector<ops::MixRow> rows(kImages);
  rows[0] = {.partner = 1, .lambda = 0.75F};
  rows[1] = {.partner = 3, .lambda = 1, .box = {2, 1, 25, 14}};
  for (size_t i = 2; i < 4; ++i) {
    rows[i] = {.partner = static_cast<int32_t>(i), .erase = {{3, 4, 20, 30}}, .erased = 1};
    rows[i].erase_fill = i == 2 ? ops::EraseFill::color : ops::EraseFill::noise;
    rows[i].erase_key = 5;
  }
  const at::Tensor mix =
      at::from_blob(rows.data(), {static_cast<int64_t>(rows.size() * sizeof(ops::MixRow))},
                    at::TensorOptions().dtype(at::kByte));
  const auto prepare = [&](const ops::Table& by, at::Device device, void* on) {
    const at::Tensor in = images.to(device), how = mix.to(device);
    at::Tensor out = at::zeros({kImages * kValues}, at::TensorOptions().device(device));
    ops::PrepareBatch op{in.const_data_ptr<uint8_t>(),
                         static_cast<const ops::MixRow*>(how.const_data_ptr()),
                         out.mutable_data_ptr(),
                         ops::Type::f32,
                         kImages,
                         kSide,
                         kSide,
                         {0.485F, 0.456F, 0.406F},
                         {0.229F, 0.224F, 0.225F}};
    by.prepare_batch(op, on);
    where.synchronize();
    return out.to(at::kCPU);
  };
  report.below("prepare_batch",
               relative_difference(prepare(table, where.device, stream),
                                   prepare(ops::reference(), at::kCPU, nullptr)),
               1e-6);

  for (const ops::OptimizerInfo& info : ops::kOptimizers) {
    StepOptions options;
    options.model = "resnet18";
    options.batch = 4;
    options.size = 32;
    options.type = at::kDouble;
    options.optimizer.kind = info.kind;
    options.optimizer.clip = 0.5;
    SyntheticStep want(options);
    options.device = where.device;
    SyntheticStep got(options);
    for (int i = 0; i < 3; ++i) want.enqueue(), got.enqueue();
    report.below(info.name, relative_difference(got.parameters().flat(), want.parameters().flat()),
                 1e-8);
  }

  at::Tensor average = at::rand({1000}), parameters = at::rand({1000});
  at::Tensor on_device = average.to(where.device, average.scalar_type(), false, /*copy=*/true);
  const at::Tensor from = parameters.to(where.device);
  ops::reference().ema(ops::Type::f32, average.mutable_data_ptr(), parameters.const_data_ptr(),
                       1000, 0.9, nullptr, nullptr);
  table.ema(ops::Type::f32, on_device.mutable_data_ptr(), from.const_data_ptr(), 1000, 0.9, nullptr,
            stream);
  where.synchronize();
  report.below("ema", relative_difference(on_device, average), 1e-6);
  return report.print();
}

bool shared_check(const Place& where) {
  compute_exactly();
  const dist::Env env = dist::this_worker(dist::environment());
  Report report("shared, rank " + std::to_string(env.rank));
  dist::ConnectOptions connection;
  connection.backend = dist::Backend::gloo;
  if (where.plugin) connection.gpu = "shared GPU";  // same on both ranks, which share a GPU
  dist::Communicator world = dist::connect(env, connection);
  if (world.size() != 2)
    throw std::invalid_argument("shared needs two processes: set RANK, WORLD_SIZE and so on");
  at::Tensor sum = at::ones({1000}, where.device) * (env.rank + 1);
  world.main.all_reduce_sum(sum);
  report.check("all_reduce", sum.sum().item<float>() == 3000);
  at::Tensor one = at::ones({1000}, where.device) * (env.rank + 1);
  world.main.broadcast(one, 1);
  report.check("broadcast", one.sum().item<float>() == 2000);

  StepOptions options;
  options.model = "resnet18";
  options.batch = 8;
  options.size = 64;
  options.device = where.device;
  options.image_seed = static_cast<uint64_t>(env.rank);  // gradients differ between the ranks
  {
    SyntheticStep step(options);
    step.average_over(world.main);
    for (int i = 0; i < 3; ++i) step.enqueue();
    at::Tensor mine = step.parameters().flat().detach().to(at::kCPU).clone();
    at::Tensor first = mine.clone();
    world.control.broadcast(first, 0);
    report.check("equal_parameters", mine.equal(first));
    SyntheticStep alone(options);
    for (int i = 0; i < 3; ++i) alone.enqueue();
    report.check("averaged", relative_difference(alone.parameters().flat(), mine) > 1e-6);
  }
  world.shutdown();
  return report.print();
}

}  // namespace shoal::bench
