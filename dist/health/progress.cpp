#include "dist/health/progress.h"

namespace shoal::dist {

std::string text_of(Phase phase) {
  switch (phase) {
    case Phase::starting:
      return "starting";
    case Phase::reading:
      return "reading images";
    case Phase::stepping:
      return "computing a step";
    case Phase::evaluating:
      return "evaluating";
    case Phase::saving:
      return "saving a checkpoint";
    case Phase::waiting:
      return "waiting for other ranks";
  }
  return "";
}

Progress::State Progress::state() const {
  const std::lock_guard lock(mutex_);
  return {phase_, operation_, std::chrono::duration<double>(Clock::now() - since_).count()};
}

void Progress::enter(Phase phase, const std::string& operation) {
  const std::lock_guard lock(mutex_);
  phase_ = phase;
  operation_ = operation;
  since_ = Clock::now();
}

Waiting::Waiting(Progress* progress, const std::string& operation) : progress_(progress) {
  if (!progress_) return;
  before_ = progress_->state();
  progress_->enter(Phase::waiting, operation);
}

Waiting::~Waiting() {
  if (progress_) progress_->enter(before_.phase, before_.operation);
}

}  // namespace shoal::dist
