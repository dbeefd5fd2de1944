#include "dist/health/progress.h"

#include <cmath>

namespace shoal::dist {

namespace {

// Whether the main thread, in this phase, changes nothing that a checkpoint contains.
bool is_harmless(Phase phase) {
  return phase == Phase::reading || phase == Phase::stepping || phase == Phase::waiting;
}

}  // namespace

std::string text_of(Phase phase) {
  switch (phase) {
    case Phase::starting:
      return "starting";
    case Phase::reading:
      return "reading images";
    case Phase::stepping:
      return "computing a step";
    case Phase::updating:
      return "updating the weights";
    case Phase::evaluating:
      return "evaluating";
    case Phase::saving:
      return "saving a checkpoint";
    case Phase::waiting:
      return "waiting for other ranks";
  }
  return "";
}

std::string text_of(const Progress::State& state) {
  return text_of(state.phase) + " for " + std::to_string(std::llround(state.seconds)) + " s" +
         (state.operation.empty() ? "" : " (" + state.operation + ")");
}

Progress::State Progress::state() const {
  const std::lock_guard lock(mutex_);
  return {phase_, phase_ == Phase::reading && name_ ? name_() : operation_, now() - since_};
}

void Progress::enter(Phase phase, const std::string& operation) {
  std::unique_lock lock(mutex_);
  const bool freezing = freezer_ != std::thread::id() && freezer_ != std::this_thread::get_id();
  if (freezing && (frozen_ || is_harmless(phase_))) changed_.wait(lock, [] { return false; });
  phase_ = phase;
  operation_ = operation;
  since_ = now();
  if (freezing) changed_.notify_all();
}

void Progress::name_reads(std::function<std::string()> name) {
  const std::lock_guard lock(mutex_);
  name_ = std::move(name);
}

bool Progress::freeze(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  freezer_ = std::this_thread::get_id();
  frozen_ = changed_.wait_for(lock, limit, [this] { return is_harmless(phase_); });
  return frozen_;
}

PhaseScope::PhaseScope(Progress* progress, Phase phase, const std::string& operation)
    : progress_(progress) {
  if (!progress_) return;
  before_ = progress_->state();
  progress_->enter(phase, operation);
}

PhaseScope::~PhaseScope() {
  if (progress_) progress_->enter(before_.phase, before_.operation);
}

}  // namespace shoal::dist
