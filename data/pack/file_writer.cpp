// Images are written to PATH.partial. PATH.partial.table contains the hash `request`
// (file_writer.h) and one entry for each finished image. Every PackOptions::flush_seconds, the
// writer flushes both files to disk and then appends a mark to the table.
//
// After an interruption, the images in the table are kept and the rest of both files is truncated.
// Images after the last mark are read again and checked, because a power loss may have destroyed
// them.
#include "data/pack/file_writer.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "base/hash.h"
#include "base/now.h"
#include "base/parallel.h"
#include "base/text.h"
#include "data/pack/output_file.h"
#include "data/pack/packer.h"
#include "data/pack/reader.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;

// Entry in the table of an unfinished set: a finished image, a damaged image that is left out
// (entry.bytes is 0), or the mark that all images before it are on disk (sample is kOnDisk).
struct Done {
  int64_t sample = 0;
  PackEntry entry;
  uint64_t check = 0;  // hash of the fields above
};
static_assert(std::has_unique_object_representations_v<Done>);  // no padding: its bytes are hashed
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

class PackWriter {
 public:
  PackWriter(const Dataset& source, uint64_t request, const std::string& path,
             const PackOptions& options, int64_t first)
      : source_(source),
        request_(request),
        path_(path),
        options_(options),
        first_(first),
        next_(first) {}

  // After run(): the first sample for the next file.
  int64_t next() const { return next_; }

  PackSummary run(const PackProgress& progress, const PackWarning& warning) {
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
    if (done_.empty()) {
      std::error_code error;  // a file that cannot be removed does no harm
      fs::remove(path_ + ".partial", error);
      remove_table(path_);
      if (first_ > 0) return summary_;  // only damaged images were left for this shard
      throw std::invalid_argument("no image could be packed: all " +
                                  std::to_string(summary_.damaged) + " are damaged, such as " +
                                  source_.name(first_));
    }
    finish(data);
    remove_table(path_);
    summary_.images = static_cast<int64_t>(done_.size());
    return summary_;
  }

 private:
  bool full(const OutputFile& data) const {
    return options_.shard_bytes > 0 && !done_.empty() &&
           data.end() >= static_cast<uint64_t>(options_.shard_bytes);
  }

  // Continues the work of an interrupted call with the same `request`, or starts both files anew.
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
    if (now() - flushed_ < options_.flush_seconds) return;
    data.flush();
    table.flush();
    const Done mark = made(kOnDisk, {});
    table.append(&mark, sizeof mark);
    flushed_ = now();
  }

  void convert(std::vector<std::unique_ptr<Packer>>& packers, std::vector<Packer::Result>& results,
               int64_t begin, int64_t count) {
    std::atomic<int64_t> next = 0;
    for_each_index(packers.size(), options_.threads, [&](size_t worker) {
      for (int64_t i = next++; i < count; i = next++)
        packers[worker]->make(source_, begin + i, results[static_cast<size_t>(i)]);
    });
  }

  void keep(Packer::Result& result, int64_t sample, OutputFile& data, const PackWarning& warning) {
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
    for (const Done& done : done_)  // not name(), which may reveal the user's private folder names
      put_text(behind, source_.key(done.sample));
    put_text(behind, hex(request_));
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
  int64_t next_;                    // next sample to pack
  std::vector<Done> done_, fresh_;  // done_: packed images; fresh_: entries not yet in the table
  double flushed_ = now();
  PackSummary summary_;
};

}  // namespace

void remove_table(const std::string& path) {
  std::error_code error;  // a table that cannot be removed does no harm: the file is complete
  fs::remove(path + ".partial.table", error);
}

PackedFile write_pack_file(const Dataset& source, uint64_t request, const std::string& path,
                           const PackOptions& options, int64_t first, const PackProgress& progress,
                           const PackWarning& warning) {
  PackWriter writer(source, request, path, options, first);
  const PackSummary summary = writer.run(progress, warning);
  return {summary, writer.next()};
}

}  // namespace shoal::data
