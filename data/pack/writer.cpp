// PATH.partial gets the pictures; PATH.partial.table, beside it, a line of what was asked for and
// one PackEntry for each finished picture. What the table tells of is good after an interruption;
// the rest is cut off.
//
// A set in shards is a folder of such files and a list (shards.h) of those that are finished.
#include "data/pack/writer.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "data/pack/output_file.h"
#include "data/pack/packer.h"
#include "data/pack/reader.h"
#include "data/pack/shards.h"
#include "data/pixel_hash.h"
#include "data/random.h"

namespace shoal::data {

namespace {

namespace fs = std::filesystem;

// What was asked for, in one number: only the same call may go on with what is there.
uint64_t request_of(const Dataset& source, const PackOptions& o, int64_t first) {
  uint64_t hash = combine(static_cast<uint64_t>(source.size()), source.classes().size());
  const auto text = [&](const std::string& s) {
    hash = combine(hash, hash_bytes(s.data(), static_cast<int64_t>(s.size())));
  };
  for (const std::string& name : source.classes()) text(name);
  text(source.name(0));
  text(source.name(source.size() - 1));
  hash =
      combine(combine(hash, static_cast<uint64_t>(o.max_side)), static_cast<uint64_t>(o.quality));
  hash = combine(combine(hash, static_cast<uint64_t>(o.raw_share * 1e9)), o.index);
  return combine(combine(hash, static_cast<uint64_t>(o.shard_bytes)), static_cast<uint64_t>(first));
}

std::string text_of(uint64_t request) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(request));
  return text;
}

// A finished picture, in the table of an unfinished set.
struct Done {
  int64_t sample = 0;
  PackEntry entry;
};
struct TableHead {
  char magic[8] = {'s', 'h', 'o', 'a', 'l', 'p', 'r', 't'};
  uint64_t request = 0;
};

void put_text(std::vector<uint8_t>& out, const std::string& text) {
  const auto length = static_cast<uint32_t>(text.size());
  const auto* bytes = reinterpret_cast<const uint8_t*>(&length);
  out.insert(out.end(), bytes, bytes + sizeof length);
  out.insert(out.end(), text.begin(), text.end());
}

void check_options(const PackOptions& o) {
  const auto require = [](bool good, const char* sentence) {
    if (!good) throw std::invalid_argument(sentence);
  };
  require(o.max_side >= 0 && o.max_side <= 65500, "--max-side must lie between 0 (off) and 65500");
  require(o.quality >= 0 && o.quality <= 100,
          "--quality must lie between 1 and 100, or be 0 (originals are kept)");
  require(o.shard_bytes >= 0, "--shard-size must not be negative");
  require(o.raw_share >= 0 && o.raw_share <= 1, "--raw-share must lie between 0 and 1");
}

using Progress = std::function<void(int64_t)>;
using Warning = std::function<void(const std::string&)>;

[[noreturn]] void refuse_existing(const std::string& path) {
  throw std::invalid_argument(
      path + " exists already; choose another name, or replace it with --overwrite");
}

// One file: the samples from `first` on, to the end or until the file is as large as a shard.
class PackWriter {
 public:
  PackWriter(const Dataset& source, const std::string& path, const PackOptions& options,
             int64_t first)
      : source_(source), path_(path), options_(options), first_(first), next_(first) {
    const fs::path folder = fs::path(path).parent_path();
    if (!folder.empty()) fs::create_directories(folder);
  }

  // The sample after the last one that was packed, after run().
  int64_t next() const { return next_; }

  PackSummary run(const Progress& progress, const Warning& warning) {
    OutputFile data(path_ + ".partial", false), table(path_ + ".partial.table", false);
    take_up(data, table);
    std::vector<std::unique_ptr<Packer>> packers;
    for (int i = 0; i < std::max(options_.threads, 1); ++i)
      packers.push_back(std::make_unique<Packer>(options_));
    std::vector<Packer::Result> results(packers.size() * 16);
    while (next_ < source_.size() && !full(data)) {
      const int64_t begin = next_;
      const int64_t count =
          std::min<int64_t>(static_cast<int64_t>(results.size()), source_.size() - begin);
      make(packers, results, begin, count);
      for (int64_t i = 0; i < count && !full(data); ++i, ++next_)
        keep(results[static_cast<size_t>(i)], begin + i, data, warning);
      table.append(fresh_.data(), fresh_.size() * sizeof(Done));
      fresh_.clear();
      if (progress) progress(next_);
    }
    if (done_.empty() && first_ > 0) {  // the last shard would have held damaged ones only
      fs::remove(path_ + ".partial");
      fs::remove(path_ + ".partial.table");
      return summary_;
    }
    if (done_.empty())
      throw std::invalid_argument("no picture could be packed: all " +
                                  std::to_string(summary_.damaged) + " are damaged");
    finish(data);
    fs::remove(path_ + ".partial.table");
    summary_.pictures = static_cast<int64_t>(done_.size());
    return summary_;
  }

 private:
  bool full(const OutputFile& data) const {
    return options_.shard_bytes > 0 && !done_.empty() &&
           data.end() >= static_cast<uint64_t>(options_.shard_bytes);
  }

  // What an interrupted run of the same request left.
  void take_up(OutputFile& data, OutputFile& table) {
    TableHead head;
    head.request = request_of(source_, options_, next_);
    const std::vector<uint8_t> left = table.read_all();
    uint64_t end = sizeof(PackHeader);
    if (left.size() >= sizeof head && std::memcmp(left.data(), &head, sizeof head) == 0) {
      Done done;
      for (size_t at = sizeof head; at + sizeof done <= left.size(); at += sizeof done) {
        std::memcpy(&done, left.data() + at, sizeof done);
        const uint64_t stop = done.entry.offset + done.entry.bytes + done.entry.index_bytes;
        if (done.entry.offset != end || stop > data.end() || done.sample < next_) break;
        end = stop;
        next_ = done.sample + 1;
        note(done);
      }
    }
    summary_.resumed = static_cast<int64_t>(done_.size());
    table.cut(0);
    table.append(&head, sizeof head);
    table.append(done_.data(), done_.size() * sizeof(Done));
    data.cut(done_.empty() ? 0 : end);
    const PackHeader none;
    if (done_.empty()) data.append(&none, sizeof none);
  }

  void make(std::vector<std::unique_ptr<Packer>>& packers, std::vector<Packer::Result>& results,
            int64_t begin, int64_t count) {
    std::atomic<int64_t> next = 0;
    std::exception_ptr failure;
    std::atomic<bool> failed = false;
    {
      std::vector<std::jthread> threads;
      for (const auto& packer : packers) {
        threads.emplace_back([&, worker = packer.get()] {
          try {
            for (int64_t i = next++; i < count && !failed; i = next++)
              worker->make(source_, begin + i, results[static_cast<size_t>(i)]);
          } catch (...) {
            if (!failed.exchange(true)) failure = std::current_exception();
          }
        });
      }
    }
    if (failure) std::rethrow_exception(failure);
  }

  void keep(Packer::Result& result, int64_t sample, OutputFile& data, const Warning& warning) {
    if (!result.damage.empty()) {
      ++summary_.damaged;
      if (warning) warning(result.damage);
      return;
    }
    result.entry.offset = data.end();
    data.append(result.bytes.data(), result.bytes.size());
    const Done done{sample, result.entry};
    note(done);
    fresh_.push_back(done);
  }

  void note(const Done& done) {
    done_.push_back(done);
    summary_.index_bytes += done.entry.index_bytes;
    ++(done.entry.kind == Packed::original  ? summary_.original
       : done.entry.kind == Packed::encoded ? summary_.encoded
                                            : summary_.pixels);
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
    put_text(behind, text_of(request_of(source_, options_, first_)));
    header.end = header.table + behind.size();
    header.check = pack_check(header, behind);
    data.append(behind.data(), behind.size());
    data.flush();
    data.write_at(0, &header, sizeof header);
    data.flush();
    fs::rename(path_ + ".partial", path_);
    summary_.file_bytes = header.end;
  }

  const Dataset& source_;
  const std::string path_;
  const PackOptions& options_;
  const int64_t first_;  // sample
  int64_t next_;         // likewise
  std::vector<Done> done_, fresh_;
  PackSummary summary_;
};

void add(PackSummary& sum, const PackSummary& part) {
  sum.pictures += part.pictures;
  sum.original += part.original;
  sum.encoded += part.encoded;
  sum.pixels += part.pixels;
  sum.damaged += part.damaged;
  sum.resumed += part.resumed;
  sum.file_bytes += part.file_bytes;
  sum.index_bytes += part.index_bytes;
}

PackSummary write_shards(const Dataset& source, const std::string& folder,
                         const PackOptions& options, const Progress& progress,
                         const Warning& warning) {
  ShardList list(folder, request_of(source, options, 0), options.overwrite);
  if (list.whole()) refuse_existing(folder);
  PackSummary sum;
  sum.resumed = list.finished() > 0 ? list.next_sample() : 0;
  while (list.next_sample() < source.size()) {
    PackWriter writer(source, list.path_of(list.finished()), options, list.next_sample());
    const PackSummary part = writer.run(progress, warning);
    add(sum, part);
    if (part.pictures == 0) break;  // nothing but damaged ones was left
    list.finish(writer.next());
  }
  sum.pictures = 0;
  for (int64_t i = 0; i < list.finished(); ++i)
    sum.pictures += PackedDataset(list.path_of(i)).size();
  list.close();
  return sum;
}

}  // namespace

PackSummary write_pack(const Dataset& source, const std::string& path, const PackOptions& options,
                       const Progress& progress, const Warning& warning) {
  check_options(options);
  if (options.shard_bytes > 0) return write_shards(source, path, options, progress, warning);
  if (fs::exists(path) && !options.overwrite) refuse_existing(path);
  return PackWriter(source, path, options, 0).run(progress, warning);
}

bool is_packed_already(const Dataset& source, const std::string& path, const PackOptions& options) {
  if (options.shard_bytes > 0)
    return is_sharded_set(path) && ShardList(path, request_of(source, options, 0), false).whole();
  if (!fs::exists(path)) return false;
  if (!is_packed_set(path)) throw std::invalid_argument(path + " is there and is no packed set");
  const std::string request = PackedDataset(path).request();
  if (request == text_of(request_of(source, options, 0))) return true;
  if (request.empty())
    throw std::invalid_argument(
        path +
        " was written by an earlier version, which did not note what it was "
        "asked for; remove it");
  throw std::invalid_argument(
      path +
      " holds a packed set of another source or other options; choose another name, or "
      "remove it");
}

}  // namespace shoal::data
