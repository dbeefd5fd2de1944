#include "data/container/cache_file.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "base/file/whole_file.h"
#include "base/hash.h"
#include "base/text.h"

namespace shoal::data {
namespace {

constexpr int64_t kRecentNs = 2'000'000'000;  // coarsest timestamp resolution (that of FAT)
constexpr auto kLongestWrite = std::chrono::hours(1);

// Removes temporary files left by killed writers of `path`. Keeps recent ones: another process or
// host may still be writing them.
void remove_old_parts(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.parent_path();
  remove_parts(folder, [&](const std::filesystem::path& name) {
    if (!name.string().starts_with(path.filename().string() + ".")) return false;
    std::error_code gone;
    const auto written =
        std::filesystem::last_write_time(folder / ("." + name.string() + ".part"), gone);
    return !gone && std::filesystem::file_time_type::clock::now() - written > kLongestWrite;
  });
}

}  // namespace

std::string CacheWriter::finish() {
  value(hash_bytes(out_));
  return std::move(out_);
}

CacheReader::CacheReader(std::string_view bytes, std::string_view kind) {
  good_ = bytes.size() >= kind.size() + 8 && bytes.starts_with(kind);
  if (!good_) return;
  const std::string_view body = bytes.substr(0, bytes.size() - 8);
  in_ = bytes.substr(body.size());
  good_ = value<uint64_t>() == hash_bytes(body);
  in_ = body.substr(kind.size());
}

bool CacheReader::take(uint64_t bytes) {
  if (bytes > in_.size()) good_ = false;
  if (!good_) return false;
  taken_ = in_.substr(0, bytes);
  in_.remove_prefix(bytes);
  return true;
}

bool are_ends(const std::vector<uint64_t>& ends, uint64_t size) {
  return std::is_sorted(ends.begin(), ends.end()) && (ends.empty() ? 0 : ends.back()) == size;
}

std::string cache_name(std::string_view path) {
  return hex(hash_bytes(path));
}

bool changed_recently(int64_t modified_ns) {
  using namespace std::chrono;
  const int64_t now = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
  return modified_ns > now - kRecentNs;
}

void write_cache(const std::string& path, const std::string& bytes) {
  try {
    create_folders(std::filesystem::path(path).parent_path());
    remove_old_parts(path);
    write_whole(path, bytes, {.concurrent = true});
  } catch (const std::runtime_error& failure) {
    throw std::runtime_error(std::string("listing cache: ") + failure.what() +
                             "; choose another folder with --cache-dir");
  }
}

}  // namespace shoal::data
