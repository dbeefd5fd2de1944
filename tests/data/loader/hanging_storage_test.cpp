#include <unistd.h>

#include <catch2/catch.hpp>
#include <future>

#include "data/loader/loader.h"
#include "tests/data/support.h"

using namespace shoal::data;

namespace {

// A thread that reads image 3 waits for ever. If `opening` is set, a thread that prefetches image 3
// waits for ever, too.
class HangingDataset final : public ForwardingDataset {
 public:
  HangingDataset(const std::shared_ptr<std::promise<void>>& reading, bool opening)
      : ForwardingDataset(made_dataset(8)), opening_(opening), reading_(reading) {}
  void will_read(int64_t first, int64_t count) const override {
    if (opening_ && first == 3) hang();
    ForwardingDataset::will_read(first, count);
  }
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override {
    if (sample == 3) hang();
    ForwardingDataset::read(sample, bytes);
  }

 private:
  [[noreturn]] void hang() const {
    reading_->set_value();
    for (;;) ::pause();
  }

  bool opening_;
  std::shared_ptr<std::promise<void>> reading_;
};

}  // namespace

TEST_CASE("a loader names the image that hanging storage does not return, and can be destroyed") {
  const bool opening = GENERATE(false, true);
  const auto reading = std::make_shared<std::promise<void>>();
  const auto data = std::make_shared<HangingDataset>(reading, opening);
  LoaderOptions options;
  options.train = false;
  options.batch_size = 4;
  options.threads = 1;
  std::string message;
  {
    Loader loader(data, options, [&](const std::string& text) { message = text; });
    CHECK(loader.slowest_read().empty());
    loader.start_epoch(0);
    reading->get_future().wait();
    CHECK(loader.slowest_read() == data->name(3));
  }
  CHECK(message.find(data->name(3)) != std::string::npos);
}
