#include "data/container/scan_files.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <stdexcept>

#include "base/parallel.h"

namespace shoal::data {
namespace {

void warn_left_out(const std::vector<SourceFile>& files, const std::vector<Scan>& scans,
                   const OpenOptions& options) {
  LeftOut left_out;
  for (size_t i = 0; i < scans.size(); ++i) {
    LeftOut of_file = scans[i].left_out;
    if (files.size() > 1) {
      const std::string file = std::filesystem::path(files[i].path).filename().string() + ":";
      for (std::string& name : of_file.examples) name.insert(0, file);
      of_file.damaged_example.insert(0, file);
    }
    left_out.add(of_file);
  }
  if (options.warning && !left_out.empty())
    options.warning(
        left_out.sentence(files[0].path + (files.size() > 1 ? " and the other files" : "")));
}

}  // namespace

std::vector<Scan> scan_files(const std::string& kind, const std::vector<SourceFile>& files,
                             const OpenOptions& options,
                             const std::function<Scan(const File&)>& scan) {
  const ScanCache cache(options.cache_dir, kind, files);
  std::vector<Scan> scans;
  const std::vector<size_t> missing = cache.load(scans);
  std::mutex mutex;
  int64_t images = 0;
  for_each_index(missing.size(), options.threads, [&](size_t i) {
    const File file(files[missing[i]].path, options.reads);
    Scan found = scan(file);
    const std::lock_guard lock(mutex);
    images += static_cast<int64_t>(found.size());
    scans[missing[i]] = std::move(found);
    if (options.progress) options.progress(images);
  });
  warn_left_out(files, scans, options);
  if (std::all_of(scans.begin(), scans.end(), [](const Scan& s) { return s.size() == 0; }))
    throw std::invalid_argument((files.empty() ? "the source" : files[0].path) +
                                (files.size() > 1 ? " and the other files contain" : " contains") +
                                " no image");
  if (missing.empty()) return scans;
  try {
    cache.save(scans);
  } catch (const std::exception& error) {
    if (options.warning) options.warning(error.what());
  }
  return scans;
}

void refuse_labels(const std::string& path) {
  throw std::invalid_argument(path +
                              " contains its own classes; remove --val-labels and --val-synsets");
}

}  // namespace shoal::data
