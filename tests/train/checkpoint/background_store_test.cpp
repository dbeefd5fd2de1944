#include "train/checkpoint/background_store.h"

#include <catch2/catch.hpp>
#include <future>
#include <stdexcept>
#include <thread>

#include "tests/support/temporary_directory.h"

using namespace shoal;
using namespace shoal::train;
using dist::Phase;

namespace {

struct Stored {
  test::TemporaryDirectory folder;
  CheckpointStore store{folder.path() / "checkpoints", 3};
  dist::Progress progress;
  BackgroundStore background{store, progress};
};

}  // namespace

TEST_CASE_METHOD(Stored, "a store that a thread writes to makes others wait") {
  CHECK_FALSE(background.started());
  CHECK_FALSE(background.finished());
  background.finish();  // nothing to wait for
  std::promise<void> release;
  bool saved = false;
  progress.enter(Phase::stepping);
  background.start([&](CheckpointStore& given) {
    release.get_future().wait();
    saved = &given == &store;
  });
  CHECK(background.started());
  CHECK_FALSE(background.finished());
  CHECK(progress.state().phase == Phase::stepping);  // start() does not wait
  std::thread later([&] {
    while (progress.state().phase != Phase::saving) std::this_thread::yield();
    release.set_value();
  });
  CHECK(&*background == &store);
  CHECK(saved);
  later.join();
  CHECK(progress.state().phase == Phase::stepping);
  CHECK(background.finished());
  CHECK(background.started());  // an access does not take the result
  background.finish();
  CHECK_FALSE(background.started());
}

TEST_CASE_METHOD(Stored, "finish() rethrows the error of the save, and only once") {
  background.start([](CheckpointStore&) { throw std::runtime_error("disk full"); });
  CHECK_THROWS_WITH(background.finish(), "disk full");
  CHECK_NOTHROW(background.finish());
}

TEST_CASE("a store is not destroyed before its thread has finished") {
  bool saved = false;
  {
    Stored stored;
    stored.background.start([&](CheckpointStore&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      saved = true;
    });
  }
  CHECK(saved);
}
