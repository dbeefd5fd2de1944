#pragma once
// Marks named parts of the program, so that a profiler shows them. Without a profiler, a Scope only
// tests a pointer. Use it from the training thread only.

#include <string>
#include <string_view>

namespace shoal::trace {

struct Profiler {
  void* (*begin)(const std::string& name);  // the result is passed to end()
  void (*end)(void* scope);
};

// Sets the profiler for scopes that are created from now on; nullptr: none. Call it while no scope
// exists. `profiler` must outlive these scopes.
void set_profiler(const Profiler* profiler);
const Profiler* profiler();

// Marks the time from construction to destruction as "PHASE NAME", or "PHASE" without a name.
class Scope {
 public:
  explicit Scope(std::string_view phase, std::string_view name = {}) : profiler_(profiler()) {
    if (profiler_) begin(phase, name);
  }
  ~Scope() {
    if (profiler_) profiler_->end(scope_);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  void begin(std::string_view phase, std::string_view name);

  const Profiler* profiler_;
  void* scope_ = nullptr;
};

}  // namespace shoal::trace
