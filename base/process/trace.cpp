#include "base/process/trace.h"

namespace shoal::trace {
namespace {

const Profiler* current = nullptr;

}  // namespace

void set_profiler(const Profiler* profiler) {
  current = profiler;
}

const Profiler* profiler() {
  return current;
}

void Scope::begin(std::string_view phase, std::string_view name) {
  std::string full(phase);
  if (!name.empty()) full.append(" ").append(name);
  scope_ = profiler_->begin(full);
}

}  // namespace shoal::trace
