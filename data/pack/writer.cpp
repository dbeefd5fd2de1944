// PATH.partial gets the pictures; PATH.partial.table, beside it, a line of what was asked for and one
// PackEntry for each finished picture. What the table tells of is good after an interruption; the
// rest is cut off.
#include "data/pack/writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "data/errors.h"
#include "data/jpeg/baseline.h"
#include "data/jpeg/index_store.h"
#include "data/jpeg/turbo.h"
#include "data/pack/reader.h"
#include "data/picture.h"
#include "data/pixel_hash.h"
#include "data/raw_pixels.h"
#include "data/resample.h"

namespace shoal::data {

namespace {

namespace fs = std::filesystem;

class OutputFile {
 public:
  OutputFile(std::string path, bool anew) : path_(std::move(path)) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | (anew ? O_TRUNC : 0), 0644);
    if (descriptor_ < 0) fail("create");
    end_ = static_cast<uint64_t>(::lseek(descriptor_, 0, SEEK_END));
  }
  ~OutputFile() { ::close(descriptor_); }
  OutputFile(const OutputFile&) = delete;

  uint64_t end() const { return end_; }
  void append(const void* bytes, size_t size) {
    write_at(end_, bytes, size);
    end_ += size;
  }
  void write_at(uint64_t offset, const void* bytes, size_t size) {
    const auto* at = static_cast<const char*>(bytes);
    while (size > 0) {
      const ssize_t done = ::pwrite(descriptor_, at, size, static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail("write to");
      at += done, offset += static_cast<uint64_t>(done), size -= static_cast<size_t>(done);
    }
  }
  std::vector<uint8_t> read_all() const {
    std::vector<uint8_t> bytes(end_);
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count =
          ::pread(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) fail("read");
      done += static_cast<size_t>(count);
    }
    return bytes;
  }
  void cut(uint64_t size) {
    if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) fail("shorten");
    end_ = size;
  }
  void flush() {
    if (::fsync(descriptor_) != 0) fail("flush");
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw std::runtime_error("cannot " + std::string(what) + " " + path_ + ": " +
                             std::generic_category().message(errno));
  }
  std::string path_;
  int descriptor_ = -1;
  uint64_t end_ = 0;
};

// What one picture becomes. One object per thread.
class Packer {
 public:
  explicit Packer(const PackOptions& options) : options_(options) {}

  struct Result {
    std::vector<uint8_t> bytes;  // the picture and its index
    PackEntry entry;
    std::string damage;  // why there is nothing
  };

  void make(const Dataset& source, int64_t sample, Result& out) {
    out.damage.clear();
    try {
      source.read(sample, out.bytes);
      const Size size = reader_.open(out.bytes);
      out.entry = {};
      out.entry.label = source.label(sample);
      const bool raw = options_.raw_share > 0 &&
                       unit(sample_key(0, 0, sample)) < options_.raw_share;
      const bool large = options_.max_side > 0 && std::max(size.width, size.height) > options_.max_side;
      if (raw || large) {
        encode(size, large, raw, out);
      } else if (!indexed_as_it_is(out)) {
        read_whole(size);  // only to see that it can be
      }
      out.entry.bytes = static_cast<uint32_t>(out.bytes.size());
      if (options_.index && !raw) add_index(out);
      out.entry.check = hash_bytes(out.bytes.data(), static_cast<int64_t>(out.bytes.size()));
    } catch (const DamagedPicture& damage) {
      out.damage = source.name(sample) + ": " + damage.what();
    }
  }

 private:
  static double unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

  bool indexed_as_it_is(const Result& out) {
    index_.clear();
    return decoder_.open(out.bytes) && decoder_.complete(index_);
  }

  void add_index(Result& out) {
    index_.clear();
    if (!decoder_.open(out.bytes) || !decoder_.complete(index_)) return;
    const std::string packed = jpeg::pack_index(index_);
    if (packed.size() * 25 > out.bytes.size()) return;  // at most 4 %
    out.bytes.insert(out.bytes.end(), packed.begin(), packed.end());
    out.entry.index_bytes = static_cast<uint32_t>(packed.size());
  }

  // The pixels, RGB, without gaps.
  void read_whole(const Size& size) {
    pixels_.resize(static_cast<size_t>(3 * size.width * size.height));
    uint8_t* to = pixels_.data();
    reader_.start({0, 0, size.width, size.height}, 64);
    for (RowBlock rows = reader_.next(); rows.count > 0; rows = reader_.next())
      for (int64_t i = 0; i < rows.count; ++i, to += 3 * size.width)
        std::memcpy(to, rows.data + i * rows.stride, static_cast<size_t>(3 * size.width));
  }

  void encode(Size size, bool reduce, bool raw, Result& out) {
    if (reduce) {
      const Size full = size;
      const double share = static_cast<double>(options_.max_side) /
                           static_cast<double>(std::max(size.width, size.height));
      const auto scaled = [&](int64_t side) {
        return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(side) * share + 0.5));
      };
      size = {scaled(size.width), scaled(size.height)};
      resizer_.begin({full.width, size.width, 0, size.width, false},
                     {full.height, size.height, 0, size.height, false}, Interpolation::bilinear);
      reader_.start(resizer_.needed(), resizer_.padding());
      for (RowBlock rows = reader_.next(); rows.count > 0; rows = reader_.next())
        resizer_.push(rows);
      pixels_.resize(static_cast<size_t>(3 * size.width * size.height));
      resizer_.finish(pixels_.data(), 3 * size.width);
    } else {
      read_whole(size);
    }
    out.entry.kind = raw ? Packed::pixels : Packed::reduced;
    out.bytes = raw ? raw_picture(pixels_.data(), size)
                    : encode_jpeg(pixels_.data(), size, options_.quality, /*subsample=*/true);
  }

  const PackOptions& options_;
  PictureReader reader_;
  jpeg::BaselineDecoder decoder_;
  jpeg::SeekIndex index_;
  Resizer resizer_;
  std::vector<uint8_t> pixels_;
};

// What was asked for, in one number: only the same call may go on with what is there.
uint64_t request_of(const Dataset& source, const PackOptions& o) {
  uint64_t hash = combine(static_cast<uint64_t>(source.size()), source.classes().size());
  const auto text = [&](const std::string& s) {
    hash = combine(hash, hash_bytes(s.data(), static_cast<int64_t>(s.size())));
  };
  for (const std::string& name : source.classes()) text(name);
  text(source.name(0));
  text(source.name(source.size() - 1));
  hash = combine(combine(hash, static_cast<uint64_t>(o.max_side)), static_cast<uint64_t>(o.quality));
  return combine(combine(hash, static_cast<uint64_t>(o.raw_share * 1e9)), o.index);
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
  require(o.quality >= 1 && o.quality <= 100, "--quality must lie between 1 and 100");
  require(o.raw_share >= 0 && o.raw_share <= 1, "--raw-share must lie between 0 and 1");
}

class PackWriter {
 public:
  PackWriter(const Dataset& source, const std::string& path, const PackOptions& options)
      : source_(source), path_(path), options_(options) {
    check_options(options);
    if (fs::exists(path) && !options.overwrite)
      throw std::invalid_argument(path + " exists already; choose another name, or replace it with "
                                         "--overwrite");
    const fs::path folder = fs::path(path).parent_path();
    if (!folder.empty()) fs::create_directories(folder);
  }

  PackSummary run(const std::function<void(int64_t)>& progress,
                  const std::function<void(const std::string&)>& warning) {
    OutputFile data(path_ + ".partial", false), table(path_ + ".partial.table", false);
    const int64_t first = take_up(data, table);
    std::vector<std::unique_ptr<Packer>> packers;
    for (int i = 0; i < std::max(options_.threads, 1); ++i)
      packers.push_back(std::make_unique<Packer>(options_));
    std::vector<Packer::Result> results(packers.size() * 16);
    for (int64_t begin = first; begin < source_.size();
         begin += static_cast<int64_t>(results.size())) {
      const int64_t count =
          std::min<int64_t>(static_cast<int64_t>(results.size()), source_.size() - begin);
      make(packers, results, begin, count);
      for (int64_t i = 0; i < count; ++i)
        keep(results[static_cast<size_t>(i)], begin + i, data, warning);
      table.append(fresh_.data(), fresh_.size() * sizeof(Done));
      fresh_.clear();
      if (progress) progress(begin + count);
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
  // What an interrupted run of the same request left; returns the next picture to make.
  int64_t take_up(OutputFile& data, OutputFile& table) {
    TableHead head;
    head.request = request_of(source_, options_);
    const std::vector<uint8_t> left = table.read_all();
    uint64_t end = sizeof(PackHeader);
    int64_t next = 0;
    if (left.size() >= sizeof head && std::memcmp(left.data(), &head, sizeof head) == 0) {
      Done done;
      for (size_t at = sizeof head; at + sizeof done <= left.size(); at += sizeof done) {
        std::memcpy(&done, left.data() + at, sizeof done);
        const uint64_t stop = done.entry.offset + done.entry.bytes + done.entry.index_bytes;
        if (done.entry.offset != end || stop > data.end() || done.sample < next) break;
        end = stop;
        next = done.sample + 1;
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
    return next;
  }

  void make(std::vector<std::unique_ptr<Packer>>& packers, std::vector<Packer::Result>& results, int64_t begin,
            int64_t count) {
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

  void keep(Packer::Result& result, int64_t sample, OutputFile& data,
            const std::function<void(const std::string&)>& warning) {
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
       : done.entry.kind == Packed::reduced ? summary_.reduced
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
  std::vector<Done> done_, fresh_;
  PackSummary summary_;
};

}  // namespace

PackSummary write_pack(const Dataset& source, const std::string& path, const PackOptions& options,
                       const std::function<void(int64_t)>& progress,
                       const std::function<void(const std::string&)>& warning) {
  return PackWriter(source, path, options).run(progress, warning);
}

}  // namespace shoal::data
