// Lists the contents of files written by Python (tests/golden/scripts/make_weights.py) and of
// damaged files.
#include "train/weights/formats/file_contents.h"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "base/error.h"
#include "base/file/whole_file.h"
#include "tests/train/weights/formats/hostile.h"

using namespace shoal;
using namespace shoal::train;
using Catch::Contains;

namespace {

std::vector<char> contents_golden(const std::string& name) {
  return read_whole_file(SHOAL_SOURCE_DIR "/tests/golden/weights/" + name);
}

std::vector<std::string> entry_names(const FileContents& contents) {
  std::vector<std::string> names;
  for (const auto& entry : contents.entries) names.push_back(entry.name);
  return names;
}

}  // namespace

TEST_CASE("entries, values and the entry that --weights uses are listed") {
  const auto ema = contents_golden("reference_ema.pth");
  const FileContents reference = read_contents(ema, "x");
  CHECK(reference.format == "torch.save, zip");
  CHECK_FALSE(reference.is_ours);
  CHECK(entry_names(reference) == std::vector<std::string>{"model", "model_ema"});
  CHECK(reference.used == "model_ema");
  CHECK(reference.weights.front().first == "conv1.weight");  // the "module." prefix is removed
  CHECK(reference.value("epoch") == "3");

  const auto nested = contents_golden("nested_ema.pth");
  const FileContents inner = read_contents(nested, "x");
  CHECK(inner.used == "ema.module");
  CHECK(inner.entries[1].tensors.front().first == "module.conv1.weight");

  const auto old = contents_golden("legacy.pth");
  const FileContents legacy = read_contents(old, "x");
  CHECK(legacy.format == "torch.save, before PyTorch 1.6");
  REQUIRE(legacy.entries.size() == 1);
  CHECK(legacy.entries[0].tensors.size() == 10);
  CHECK(legacy.entries[0].tensors[0].second.sizes == std::vector<int64_t>{4, 6});
  CHECK(name_of(legacy.entries[0].tensors[5].second.element) == std::string("bfloat16"));
}

TEST_CASE("a checkpoint of PyTorch's imagenet example is listed with its optimizer") {
  const auto bytes = contents_golden("small_example.pth.tar");
  const FileContents contents = read_contents(bytes, "x");
  CHECK(entry_names(contents) == std::vector<std::string>{"state_dict", "optimizer"});
  CHECK(contents.entries[0].tensors.size() == 2);
  REQUIRE(contents.entries[1].tensors.size() == 2);
  CHECK(contents.entries[1].tensors[1].first == "state.1.momentum_buffer");
  CHECK(contents.used == "state_dict");
  CHECK(contents.value("arch") == "linear");
  CHECK(contents.value("best_acc1") == "5");
}

TEST_CASE("files that are damaged, hostile or without weights are refused by name") {
  const auto nothing = contents_golden("nothing.pth"), whole = contents_golden("whole.pth");
  CHECK_THROWS_WITH(read_contents(nothing, "x.pth"), Contains("x.pth contains no state dict"));
  CHECK_THROWS_WITH(read_contents(whole, "x.pth"),
                    Contains("x.pth") && Contains("whole pickled model"));
  auto cut = contents_golden("legacy.pth");
  cut.resize(cut.size() / 2);
  CHECK_THROWS_WITH(read_contents(cut, "x.pth"), Contains("x.pth is not a whole file"));
  const auto outside = zip_of(
      {{"a/data.pkl", pickled_dict(pickled("fc.weight") + pickled(HandMadeTensor{5, {1}, {1}}))},
       {"a/data/0", std::string(16, '\1')}});
  CHECK_THROWS_WITH(read_contents(outside, "x.pth"), Contains("x.pth") && Contains("cut short"));
  const std::string code =
      "\x80\x02}(" + pickled("model") + "cos\nsystem\n(" + pickled("true") + "tRu.";
  const auto executes = zip_of({{"a/data.pkl", code}});
  CHECK_THROWS_WITH(read_contents(executes, "x.pth"), Contains("x.pth") && Contains("os.system"));
}
