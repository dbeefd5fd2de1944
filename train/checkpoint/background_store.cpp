#include "train/checkpoint/background_store.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "base/process/block_signals.h"

namespace shoal::train {

void BackgroundStore::start(std::function<void(CheckpointStore&)> save) {
  wait();
  const auto task = [this, save = std::move(save)] { save(store_); };
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
