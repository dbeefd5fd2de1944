#include "train/step/profiler.h"

#include <torch/csrc/autograd/profiler_kineto.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>

#include "base/file/whole_file.h"
#include "base/process/trace.h"

namespace shoal::train {
namespace {

void* begin_scope(const std::string& name) {
  auto scope = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
  if (scope->isActive()) scope->before(name);
  return scope.release();
}

void end_scope(void* scope) {
  delete static_cast<at::RecordFunction*>(scope);
}

// Makes trace::Scope visible to LibTorch's profiler.
struct Scopes {
  Scopes() { trace::set_profiler(&profiler); }
  ~Scopes() { trace::set_profiler(nullptr); }
  Scopes(const Scopes&) = delete;
  Scopes& operator=(const Scopes&) = delete;
  static constexpr trace::Profiler profiler = {begin_scope, end_scope};
};

struct TemporaryFile {
  TemporaryFile() {
    const int file = ::mkstemp(path.data());
    if (file < 0) throw std::runtime_error("cannot create " + path);
    ::close(file);
  }
  ~TemporaryFile() { ::unlink(path.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path = (std::filesystem::temp_directory_path() / "shoal-trace-XXXXXX").string();
};

}  // namespace

void write_trace(const std::string& file, bool gpu, const std::function<void()>& work) {
  using namespace torch::autograd::profiler;
  using torch::profiler::impl::ActivityType;
  using torch::profiler::impl::ProfilerConfig;
  using torch::profiler::impl::ProfilerState;
  std::set<ActivityType> activities = {ActivityType::CPU};
  if (gpu) activities.insert(ActivityType::CUDA);
  const ProfilerConfig config(ProfilerState::KINETO);
  prepareProfiler(config, activities);
  enableProfiler(
      config, activities,
      {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE});
  try {
    const Scopes scopes;
    work();
  } catch (...) {
    disableProfiler();
    throw;
  }
  // save() does not report errors. So let it write to a temporary file, and copy that file with
  // write_whole(), which reports errors.
  const TemporaryFile saved;
  disableProfiler()->save(saved.path);
  const std::vector<char> text = read_whole_file(saved.path);
  if (text.empty() || text.back() != '}')
    throw std::runtime_error("the trace in " + saved.path +
                             " is incomplete; is the disk full? Set TMPDIR to another folder");
  write_whole(file, [&](const ByteSink& sink) { sink(text.data(), text.size()); });
}

}  // namespace shoal::train
