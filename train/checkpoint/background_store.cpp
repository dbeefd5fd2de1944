#include "train/checkpoint/background_store.h"

#include <chrono>
#include <memory>
#include <system_error>
#include <utility>

#include "base/process/block_signals.h"

namespace shoal::train {

CheckpointStore& BackgroundStore::operator*() {
  wait();
  store_.protect_before(protected_before_);
  return store_;
}

void BackgroundStore::start(std::function<void(CheckpointStore&)> save) {
  wait();
  store_.protect_before(protected_before_);
  // Not copied by std::async: it may hold large texts.
  const auto shared = std::make_shared<std::function<void(CheckpointStore&)>>(std::move(save));
  const auto task = [this, shared] { (*shared)(store_); };
  try {
    const BlockSignals block;  // the new thread inherits this
    saving_ = std::async(std::launch::async, task);
  } catch (const std::system_error&) {  // the system allows no more threads
    saving_ = std::async(std::launch::deferred, task);
    saving_.wait();
  }
}

bool BackgroundStore::finished() const {
  return started() && saving_.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
}

void BackgroundStore::protect_before(int64_t step) {
  protected_before_ = step;
}

void BackgroundStore::finish() {
  wait();
  if (started()) saving_.get();
}

void BackgroundStore::wait() {
  if (!started() || saving_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) return;
  const dist::PhaseScope scope(&progress_, dist::Phase::saving);
  saving_.wait();
}

}  // namespace shoal::train
