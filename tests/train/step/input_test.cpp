// Tests the conversion of batches to inputs. On a CPU, inputs are made directly from the loader's
// memory; on a GPU, the batch is uploaded first. The tests also run the GPU path on the CPU, with
// loops compiled from the GPU's sources.

#include "train/step/input.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/record_function.h>

#include <catch2/catch.hpp>

#include "data/random.h"
#include "models/functions.h"
#include "ops/cuda/table.h"

using namespace shoal;
using train::Input;

namespace {

constexpr int64_t kRows = 6, kHeight = 9, kWidth = 7, kBytes = kHeight * kWidth * 3;

struct HostBatch {
  std::vector<uint8_t> pixels;
  std::vector<data::Row> rows = std::vector<data::Row>(kRows);
  data::Batch batch;

  explicit HostBatch(int64_t views = 1) {
    batch.room = kRows * train::room_per_row();
    pixels.resize(static_cast<size_t>(views * kRows * kBytes + batch.room));
    data::KeyedRandom random(8);
    for (uint8_t& byte : pixels) byte = static_cast<uint8_t>(random.next());
    for (int64_t i = 0; i < kRows; ++i) {
      rows[i].label = static_cast<int32_t>(i * 10);
      rows[i].key = random.next();
      rows[i].partner = static_cast<int32_t>(i);
    }
    batch.images = pixels.data();
    batch.rows = rows;
    batch.capacity = batch.count = kRows;
    batch.height = kHeight;
    batch.width = kWidth;
    batch.views = views;
  }
  void mix() {
    rows[0].partner = 1, rows[0].lambda = 0.75f, rows[0].blend = true;
    rows[1].partner = 0, rows[1].lambda = 0.5f;
    rows[1].box[0] = 1, rows[1].box[1] = 2, rows[1].box[2] = 5, rows[1].box[3] = 6;
    rows[4].erased = 1;
    rows[4].erase[0][2] = rows[4].erase[0][3] = 4;
    rows[4].erase_fill = data::EraseFill::noise;
  }
};

Input there(const data::Batch& batch, ops::Type type, int64_t each = 1) {
  return train::make_input_on_device(batch, type, ops::cuda_twin(), at::kCPU, each);
}

void require_same(const Input& a, const Input& b) {
  REQUIRE(a.images.sizes() == b.images.sizes());
  REQUIRE(a.images.strides() == b.images.strides());
  REQUIRE(a.images.scalar_type() == b.images.scalar_type());
  const bool coarse = a.images.scalar_type() == at::kBFloat16;
  CHECK(at::allclose(a.images.to(at::kDouble), b.images.to(at::kDouble), coarse ? 1e-2 : 1e-5,
                     coarse ? 1e-2 : 1e-5));
  CHECK(at::equal(a.labels.a, b.labels.a));
  REQUIRE(a.labels.b.defined() == b.labels.b.defined());
  if (a.labels.b.defined()) {
    CHECK(at::equal(a.labels.b, b.labels.b));
    CHECK(at::equal(a.labels.lambda, b.labels.lambda));
  }
  CHECK(at::equal(a.keys, b.keys));
  CHECK(a.readable == b.readable);
  CHECK(a.unreadable == b.unreadable);
}

}  // namespace

TEST_CASE("an uploaded input equals the input made from the loader's memory") {
  const auto type = GENERATE(ops::Type::f32, ops::Type::f64, ops::Type::bf16);
  const bool mixed = GENERATE(false, true);
  HostBatch host;
  if (mixed) host.mix();
  const Input direct = train::make_input(host.batch, type, at::kCPU);
  require_same(there(host.batch, type), direct);
  CHECK(direct.labels.b.defined() == mixed);
  CHECK(direct.images.is_contiguous(at::MemoryFormat::ChannelsLast));
  // Pixel 3 of image 2. This image is neither mixed nor erased.
  const double expected = (host.pixels[2 * kBytes + 9] / 255.0 - 0.485) / 0.229;
  CHECK(direct.images[2][0][0][3].item<double>() == Approx(expected).epsilon(0.01));
}

TEST_CASE("an input has the batch's channels and normalization") {
  HostBatch host;
  host.batch.channels = 1;
  host.batch.normalization = {{0.25, 0.25, 0.25}, {0.5, 0.5, 0.5}};
  const Input direct = train::make_input(host.batch, ops::Type::f64, at::kCPU);
  require_same(there(host.batch, ops::Type::f64), direct);
  REQUIRE(direct.images.sizes() == at::IntArrayRef({kRows, 1, kHeight, kWidth}));
  for (int64_t i = 0; i < direct.images.numel(); ++i)
    REQUIRE(direct.images.data_ptr<double>()[i] ==
            Approx((host.pixels[static_cast<size_t>(i)] / 255.0 - 0.25) / 0.5).margin(1e-12));
}

TEST_CASE("the loader's memory may change after the upload") {
  HostBatch host;
  host.mix();
  const Input before = train::make_input(host.batch, ops::Type::f32, at::kCPU);
  const Input staged = there(host.batch, ops::Type::f32);
  std::fill(host.pixels.begin(), host.pixels.end(), uint8_t{0});
  for (data::Row& row : host.rows) row = {};
  require_same(staged, before);
}

namespace {

// A tensor copy that was requested from LibTorch.
struct Copy {
  const void* from = nullptr;
  bool asynchronous = false;
};

// Records the copies that this thread requests. Only one observer may exist at a time.
class CopyObserver {
 public:
  CopyObserver() { noted().clear(); }
  ~CopyObserver() { at::removeCallback(handle_); }
  CopyObserver(const CopyObserver&) = delete;
  CopyObserver& operator=(const CopyObserver&) = delete;
  const std::vector<Copy>& copies() const { return noted(); }

 private:
  static std::vector<Copy>& noted() {
    static std::vector<Copy> copies;
    return copies;
  }
  static std::unique_ptr<at::ObserverContext> note(const at::RecordFunction& call) {
    const std::string name = call.name();
    const auto inputs = call.inputs();
    if (name == "aten::copy_")
      noted().push_back({inputs[1].toTensor().const_data_ptr(), inputs[2].toBool()});
    else if (name == "aten::_to_copy" || name == "aten::clone" || name == "aten::_pin_memory")
      noted().push_back({});
    return nullptr;
  }

  const at::CallbackHandle handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(note).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
};

}  // namespace

TEST_CASE("a batch is uploaded in one asynchronous copy from the loader's memory") {
  const bool mixed = GENERATE(false, true);
  HostBatch host;
  if (mixed) host.mix();
  const CopyObserver observer;
  const Input input = there(host.batch, ops::Type::f32);
  REQUIRE(observer.copies().size() == 1);
  CHECK(observer.copies()[0].from == host.pixels.data());
  CHECK(observer.copies()[0].asynchronous);
  CHECK(input.labels.b.defined() == mixed);
}

TEST_CASE("a batch without room for its labels is a logic error") {
  HostBatch host;
  host.batch.room = 0;
  CHECK_THROWS_AS(there(host.batch, ops::Type::f32), std::logic_error);
  HostBatch one;
  one.mix();
  one.rows[0].partner = 0;
  one.rows[0].erased = 1;
  one.batch.count = 1;
  one.batch.room = train::room_per_row();
  require_same(there(one.batch, ops::Type::f32),
               train::make_input(one.batch, ops::Type::f32, at::kCPU));
}

TEST_CASE(
    "several views, two images per row, unreadable rows and an empty batch are uploaded "
    "correctly") {
  HostBatch views(2);
  require_same(there(views.batch, ops::Type::f32),
               train::make_input(views.batch, ops::Type::f32, at::kCPU));

  HostBatch pairs;
  for (int64_t i = 0; i < kRows; i += 2) {
    pairs.rows[i].partner = static_cast<int32_t>(i + 1);
    pairs.rows[i].lambda = 0.25f;
    pairs.rows[i].blend = true;
  }
  const Input halved = train::make_input(pairs.batch, ops::Type::f32, at::kCPU, 2);
  CHECK(halved.images.size(0) == kRows / 2);
  CHECK(halved.labels.b[1].item<int32_t>() == 30);
  require_same(there(pairs.batch, ops::Type::f32, 2), halved);

  HostBatch damaged;
  damaged.rows[1].unreadable = damaged.rows[5].unreadable = true;
  const Input rest = train::make_input(damaged.batch, ops::Type::f32, at::kCPU);
  CHECK(rest.readable == std::vector<int64_t>{0, 2, 3, 4});
  require_same(there(damaged.batch, ops::Type::f32), rest);

  HostBatch none;
  none.batch.count = 0;
  const Input empty = there(none.batch, ops::Type::f32);
  CHECK(empty.images.numel() == 0);
  CHECK(empty.labels.a.numel() == 0);
  CHECK(empty.labels.a.scalar_type() == at::kInt);
  CHECK_FALSE(empty.batch_was_read);
}
