// Images go to PATH.partial. PATH.partial.table beside it has a hash of the request and one entry
// for each finished image. After an interruption the images in the table are kept and the rest is
// truncated. Now and then both files are flushed to disk and a mark is added to the table. When the
// work continues, only images after the last mark are read again and checked, because a power loss
// may have lost them.
//
// A set in shards is a folder of such files and a list (shards.h) of the finished ones.
#include "data/pack/writer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/file_lock.h"
#include "base/hash.h"
#include "data/jpeg/turbo.h"
#include "data/pack/output_file.h"
#include "data/pack/packer.h"
#include "data/pack/reader.h"
#include "data/pack/shards.h"
#include "data/random.h"
#include "data/sources/parallel.h"

namespace shoal::data {

namespace {

namespace fs = std::filesystem;

// Hash of the request: only a call with the same arguments may continue. `listing`: listing_hash()
// of the source.
uint64_t request_of(uint64_t listing, const PackOptions& o, int64_t first) {
  uint64_t hash = combine(combine(listing, static_cast<uint64_t>(o.max_side)),
                          static_cast<uint64_t>(o.quality));
  hash = combine(combine(hash, static_cast<uint64_t>(o.raw_share * 1e9)), o.index);
  return combine(combine(hash, static_cast<uint64_t>(o.shard_bytes)), static_cast<uint64_t>(first));
}

std::string text_of(uint64_t request) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(request));
  return text;
}

// Entry in the table of an unfinished set: a finished image, a damaged one that is left out (0
// bytes), or the mark that everything before is on disk (kOnDisk).
struct Done {
  int64_t sample = 0;
  PackEntry entry;
  uint64_t check = 0;  // hash of the fields above
};
static_assert(std::has_unique_object_representations_v<Done>);  // its bytes are hashed
constexpr int64_t kOnDisk = -1;

uint64_t check_of(const Done& done) {
  return hash_bytes(&done, offsetof(Done, check));
}

Done made(int64_t sample, const PackEntry& entry) {
  Done done{sample, entry};
  done.check = check_of(done);
  return done;
}

struct TableHead {
  char magic[8] = {'s', 'h', 'o', 'a', 'l', 'p', 'r', '2'};
  uint64_t request = 0;
};

void put_text(std::vector<uint8_t>& out, const std::string& text) {
  const auto length = static_cast<uint32_t>(text.size());
  const auto* bytes = reinterpret_cast<const uint8_t*>(&length);
  out.insert(out.end(), bytes, bytes + sizeof length);
  out.insert(out.end(), text.begin(), text.end());
}

void check_options(const PackOptions& o) {
  require_valid(o.max_side >= 0 && o.max_side <= kLargestJpegSide,
                "--max-side must be between 0 (off) and 65500");
  require_valid(o.quality >= 0 && o.quality <= 100,
                "--quality must be between 1 and 100, or be 0 (originals are kept)");
  require_valid(o.shard_bytes >= 0, "--shard-size must not be negative");
  require_valid(o.raw_share >= 0 && o.raw_share <= 1, "--raw-share must be between 0 and 1");
}

using Progress = std::function<void(int64_t)>;
using Warning = std::function<void(const std::string&)>;

[[noreturn]] void refuse_existing(const std::string& path) {
  throw std::invalid_argument(
      path + " already exists; choose another name, or replace it with --overwrite");
}

// Writes one file: samples from `first` to the end, or until the file has the size of a shard.
class PackWriter {
 public:
  PackWriter(const Dataset& source, uint64_t listing, const std::string& path,
             const PackOptions& options, int64_t first)
      : source_(source),
        request_(request_of(listing, options, first)),
        path_(path),
        options_(options),
        first_(first),
        next_(first) {}

  // After run(): the sample after the last packed one.
  int64_t next() const { return next_; }

  PackSummary run(const Progress& progress, const Warning& warning) {
    OutputFile data(path_ + ".partial"), table(path_ + ".partial.table");
    resume(data, table);
    std::vector<std::unique_ptr<Packer>> packers;
    for (int i = 0; i < std::max(options_.threads, 1); ++i)
      packers.push_back(std::make_unique<Packer>(options_));
    std::vector<Packer::Result> results(packers.size() * 16);
    while (next_ < source_.size() && !full(data)) {
      const int64_t begin = next_;
      const int64_t count =
          std::min<int64_t>(static_cast<int64_t>(results.size()), source_.size() - begin);
      convert(packers, results, begin, count);
      for (int64_t i = 0; i < count && !full(data); ++i, ++next_)
        keep(results[static_cast<size_t>(i)], begin + i, data, warning);
      table.append(fresh_.data(), fresh_.size() * sizeof(Done));
      fresh_.clear();
      flush_now_and_then(data, table);
      if (progress) progress(next_);
    }
    if (done_.empty() && first_ > 0) {  // only damaged images were left for this shard
      fs::remove(path_ + ".partial");
      fs::remove(path_ + ".partial.table");
      return summary_;
    }
    if (done_.empty())
      throw std::invalid_argument("no image could be packed: all " +
                                  std::to_string(summary_.damaged) + " are damaged");
    finish(data);
    fs::remove(path_ + ".partial.table");
    summary_.images = static_cast<int64_t>(done_.size());
    return summary_;
  }

 private:
  bool full(const OutputFile& data) const {
    return options_.shard_bytes > 0 && !done_.empty() &&
           data.end() >= static_cast<uint64_t>(options_.shard_bytes);
  }

  // Continues the work of an interrupted run of the same request.
  void resume(OutputFile& data, OutputFile& table) {
    TableHead head;
    head.request = request_;
    const std::vector<uint8_t> left = table.read(0, table.end());
    uint64_t end = sizeof(PackHeader);
    std::vector<Done> entries;
    if (left.size() >= sizeof head && std::memcmp(left.data(), &head, sizeof head) == 0) {
      entries.resize((left.size() - sizeof head) / sizeof(Done));
      if (!entries.empty())
        std::memcpy(entries.data(), left.data() + sizeof head, entries.size() * sizeof(Done));
    }
    const auto on_disk = std::find_if(entries.rbegin(), entries.rend(),
                                      [](const Done& done) { return done.sample == kOnDisk; });
    auto entry = entries.begin();
    for (; entry != entries.end() && entry->check == check_of(*entry); ++entry) {
      if (entry->sample == kOnDisk) continue;
      const PackEntry& e = entry->entry;
      const uint64_t stop = e.offset + e.bytes + e.index_bytes;
      if (e.offset != end || stop > data.end() || entry->sample < next_ ||
          entry->sample >= source_.size())
        break;
      if (entry >= on_disk.base() && !is_intact(data, e)) break;
      end = stop;
      next_ = entry->sample + 1;
      note(*entry);
    }
    summary_.resumed = static_cast<int64_t>(done_.size());
    if (const auto taken = static_cast<size_t>(entry - entries.begin()); taken > 0) {
      table.truncate(sizeof head + taken * sizeof(Done));
      data.truncate(end);
      return;
    }
    table.truncate(0);
    table.append(&head, sizeof head);
    data.truncate(0);
    const PackHeader none;
    data.append(&none, sizeof none);
  }

  static bool is_intact(const OutputFile& data, const PackEntry& e) {
    const auto bytes = data.read(e.offset, size_t{e.bytes} + e.index_bytes);
    return e.bytes == 0 || hash_bytes(bytes.data(), static_cast<int64_t>(bytes.size())) == e.check;
  }

  void flush_now_and_then(OutputFile& data, OutputFile& table) {
    using Clock = std::chrono::steady_clock;
    if (Clock::now() - flushed_ < std::chrono::duration<double>(options_.flush_seconds)) return;
    data.flush();
    table.flush();
    const Done mark = made(kOnDisk, {});
    table.append(&mark, sizeof mark);
    flushed_ = Clock::now();
  }

  void convert(std::vector<std::unique_ptr<Packer>>& packers, std::vector<Packer::Result>& results,
               int64_t begin, int64_t count) {
    std::atomic<int64_t> next = 0;
    for_each_index(packers.size(), options_.threads, [&](size_t worker) {
      for (int64_t i = next++; i < count; i = next++)
        packers[worker]->make(source_, begin + i, results[static_cast<size_t>(i)]);
    });
  }

  void keep(Packer::Result& result, int64_t sample, OutputFile& data, const Warning& warning) {
    if (!result.damage.empty()) {
      if (warning) warning(result.damage);
      result.entry = {};
      result.bytes.clear();
    }
    result.entry.offset = data.end();
    data.append(result.bytes.data(), result.bytes.size());
    const Done done = made(sample, result.entry);
    note(done);
    fresh_.push_back(done);
  }

  void note(const Done& done) {
    if (done.entry.bytes == 0) {
      ++summary_.damaged;
      return;
    }
    done_.push_back(done);
    summary_.index_bytes += done.entry.index_bytes;
    ++summary_.of(done.entry.kind);
  }

  void finish(OutputFile& data) {
    constexpr char kZeros[alignof(PackEntry)] = {};
    data.append(kZeros, (sizeof kZeros - data.end() % sizeof kZeros) % sizeof kZeros);
    std::vector<uint8_t> behind;
    for (const Done& done : done_) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(&done.entry);
      behind.insert(behind.end(), bytes, bytes + sizeof done.entry);
    }
    PackHeader header;
    std::memcpy(header.magic, kPackMagic, sizeof header.magic);
    header.version = kPackVersion;
    header.header_bytes = sizeof header;
    header.samples = done_.size();
    header.classes = source_.classes().size();
    header.table = data.end();
    header.text = header.table + behind.size();
    for (const std::string& name : source_.classes()) put_text(behind, name);
    for (const Done& done : done_) put_text(behind, source_.name(done.sample));
    put_text(behind, text_of(request_));
    header.end = header.table + behind.size();
    header.check = pack_check(header, behind);
    data.append(behind.data(), behind.size());
    data.flush();
    data.write_at(0, &header, sizeof header);
    data.publish(path_);
    summary_.file_bytes = header.end;
  }

  const Dataset& source_;
  const uint64_t request_;
  const std::string path_;
  const PackOptions& options_;
  const int64_t first_;             // first sample of this file
  int64_t next_;                    // next sample
  std::vector<Done> done_, fresh_;  // packed images; entries not yet in the table
  std::chrono::steady_clock::time_point flushed_ = std::chrono::steady_clock::now();
  PackSummary summary_;
};

// Adds the counts of a finished file.
void add(PackSummary& sum, const PackedDataset& pack) {
  sum.images += pack.size();
  sum.file_bytes += pack.file_bytes();
  for (int64_t i = 0; i < pack.size(); ++i) {
    const PackEntry& entry = pack.entry(i);
    sum.index_bytes += entry.index_bytes;
    ++sum.of(entry.kind);
  }
}

PackSummary write_shards(const Dataset& source, const std::string& folder,
                         const PackOptions& options, const Progress& progress,
                         const Warning& warning) {
  const uint64_t listing = listing_hash(source, "");
  ShardList list(folder, request_of(listing, options, 0), options.overwrite);
  if (list.whole()) refuse_existing(folder);
  int64_t resumed = list.next_sample();
  while (list.next_sample() < source.size()) {
    PackWriter writer(source, listing, list.path_of(list.finished()), options, list.next_sample());
    const PackSummary part = writer.run(progress, warning);
    resumed += part.resumed;
    if (part.images == 0) break;  // only damaged images were left
    list.finish(writer.next());
  }
  PackSummary sum;
  for (int64_t i = 0; i < list.finished(); ++i) add(sum, PackedDataset(list.path_of(i)));
  sum.resumed = resumed;
  sum.damaged = source.size() - sum.images;
  list.close();
  return sum;
}

PackSummary write_locked(const Dataset& source, const std::string& path, const PackOptions& options,
                         const Progress& progress, const Warning& warning) {
  if (options.shard_bytes > 0) return write_shards(source, path, options, progress, warning);
  if (fs::is_directory(path))
    throw std::invalid_argument(
        path + " is a folder; choose the name of a file, or ask for several with --shard-size");
  if (fs::exists(path) && !options.overwrite) refuse_existing(path);
  if (fs::exists(path) && !is_packed_set(path))
    throw std::invalid_argument(path +
                                " is not a packed set, and --overwrite replaces only those; choose "
                                "another name, or remove it");
  return PackWriter(source, listing_hash(source, ""), path, options, 0).run(progress, warning);
}

}  // namespace

PackSummary write_pack(const Dataset& source, const std::string& path, const PackOptions& options,
                       const Progress& progress, const Warning& warning) {
  check_options(options);
  std::string name = fs::absolute(path).lexically_normal().string();
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  fs::create_directories(fs::path(name).parent_path());
  const FileLock lock(name + ".lock", path, "name", /*seconds=*/0);
  try {
    const PackSummary summary = write_locked(source, path, options, progress, warning);
    lock.remove_file();
    return summary;
  } catch (...) {
    lock.remove_file();
    throw;
  }
}

bool is_packed_already(const Dataset& source, const std::string& path, const PackOptions& options) {
  if (options.shard_bytes > 0 && !is_sharded_set(path)) return false;
  if (!fs::exists(path)) return false;
  const uint64_t asked = request_of(listing_hash(source, ""), options, 0);
  if (options.shard_bytes > 0) return ShardList(path, asked, false).whole();
  if (!is_packed_set(path))
    throw std::invalid_argument(
        path + " exists and is not a packed set; choose another name, or remove it");
  const std::string request = PackedDataset(path).request();
  if (request == text_of(asked)) return true;
  if (request.empty())
    throw std::invalid_argument(path +
                                " was written by an earlier version that did not record its "
                                "arguments; remove it");
  throw std::invalid_argument(
      path +
      " holds a packed set of another source or other options, or of an earlier version; choose "
      "another name, or remove it");
}

}  // namespace shoal::data
