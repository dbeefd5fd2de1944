#include "data/container/inflate.h"

#include <sys/mman.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string>

#include "base/file/descriptor.h"
#include "data/errors.h"

namespace shoal::data {
namespace {

constexpr size_t kPiece = size_t{1} << 18;        // bytes
constexpr size_t kRawPiece = size_t{1} << 16;     // bytes
constexpr size_t kMaxRatio = 1032;                // maximum compression ratio of deflate
constexpr int kGzipOrZlib = 15 + 32, kRaw = -15;  // values of zlib's windowBits

class Inflater {
 public:
  explicit Inflater(int format = kGzipOrZlib) {
    if (::inflateInit2(&z_, format) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { ::inflateEnd(&z_); }
  Inflater(const Inflater&) = delete;

  z_stream* operator->() { return &z_; }
  int step() { return ::inflate(&z_, Z_NO_FLUSH); }
  void start_over() { ::inflateReset(&z_); }
  // Skips zeros in the input. Zeros may follow a gzip member, for example as padding on a tape.
  void skip_zeros() {
    for (; z_.avail_in > 0 && *z_.next_in == 0; --z_.avail_in) ++z_.next_in;
  }

 private:
  z_stream z_{};
};

}  // namespace

bool is_gzip(std::span<const uint8_t> head) {
  return head.size() >= 2 && head[0] == 0x1f && head[1] == 0x8b;
}

std::string_view foreign_compression(std::span<const uint8_t> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (text.starts_with("\x28\xb5\x2f\xfd")) return "zstd";
  if (text.starts_with(std::string_view("\xfd"
                                        "7zXZ\0",
                                        6)))
    return "xz";
  return text.starts_with("BZh") ? "bzip2" : "";
}

bool is_compressed(std::span<const uint8_t> head) {
  if (head.size() < 2) return false;
  const bool zlib = (head[0] & 0x8f) == 8 && (head[0] * 256 + head[1]) % 31 == 0;
  return is_gzip(head) || zlib;
}

std::vector<uint8_t> inflate_head(std::span<const uint8_t> head, size_t bytes) {
  bytes = std::min(bytes, kMaxRatio * head.size());
  std::vector<uint8_t> out(bytes);
  Inflater stream;
  stream->next_in = const_cast<uint8_t*>(head.data());
  stream->avail_in = static_cast<uInt>(head.size());
  stream->next_out = out.data();
  stream->avail_out = static_cast<uInt>(bytes);
  while (stream->avail_out > 0 && stream.step() == Z_OK) {
  }
  out.resize(bytes - stream->avail_out);
  return out;
}

std::shared_ptr<const File> inflate_file(const File& file, uint64_t most) {
  Descriptor memory(::memfd_create("unpacked", MFD_CLOEXEC));
  if (!memory.is_open()) throw FileFailure("decompress", file.path(), errno);
  const int descriptor = memory.number();
  auto unpacked = std::make_shared<const File>(std::move(memory), file.path());
  const auto refuse = [&](const std::string& what) {
    throw std::invalid_argument(file.path() + " " + what);
  };
  std::vector<uint8_t> in(kPiece), out(kPiece);
  Inflater stream;
  uint64_t at = 0, written = 0;
  bool ended = false, full = false;  // full: `out` was filled, so there may be more output
  for (;;) {
    if (stream->avail_in == 0 && !full) {
      const int64_t count = file.read_at(at, in.data(), static_cast<int64_t>(in.size()));
      if (count == 0) break;
      at += static_cast<uint64_t>(count);
      stream->next_in = in.data();
      stream->avail_in = static_cast<uInt>(count);
    }
    if (ended) {
      stream.skip_zeros();
      if (stream->avail_in == 0) continue;
      stream.start_over();
    }
    stream->next_out = out.data();
    stream->avail_out = static_cast<uInt>(out.size());
    const int result = stream.step();
    ended = result == Z_STREAM_END;
    const bool waits = result == Z_BUF_ERROR && stream->avail_in == 0;
    if (result != Z_OK && !ended && !waits) refuse("is damaged: it cannot be decompressed");
    full = stream->avail_out == 0 && !ended;
    const size_t count = out.size() - stream->avail_out;
    written += count;
    if (written > most)
      refuse("is larger than " + std::to_string(most >> 20) + " MiB decompressed; split it");
    if (const int error = write_all(descriptor, out.data(), count))
      throw FileFailure("decompress", file.path(), error);
  }
  if (!ended) refuse("is cut short: its compressed data has no end");
  return unpacked;
}

bool inflate_raw(const File& file, uint64_t offset, uint64_t packed, uint64_t count,
                 std::vector<uint8_t>& to) {
  // Checked first, so that a wrong `count` does not allocate too much memory.
  if (count / kMaxRatio > packed) throw DamagedImage("its compressed data is too short");
  thread_local Inflater stream(kRaw);  // keeps its memory between calls
  thread_local std::vector<uint8_t> in(kRawPiece);
  stream.start_over();
  to.resize(count);
  stream->next_out = to.data();
  stream->avail_out = static_cast<uInt>(count);
  stream->avail_in = 0;
  // Reads at most count + 1024 bytes at a time, because the caller may want only a few bytes. 1 KiB
  // is enough for the tables of a deflate block.
  const uint64_t piece = std::min<uint64_t>(in.size(), count + 1024);
  for (uint64_t read = 0;;) {
    if (stream->avail_in == 0 && read < packed) {
      const uint64_t part = std::min(piece, packed - read);
      read_fully(file, offset + read, in.data(), static_cast<int64_t>(part));
      read += part;
      stream->next_in = in.data();
      stream->avail_in = static_cast<uInt>(part);
    }
    const int result = stream.step();
    if (result == Z_OK) continue;
    const bool ended = result == Z_STREAM_END, full = stream->avail_out == 0;
    if (full && (ended || result == Z_BUF_ERROR)) return ended;
    throw DamagedImage("its compressed data is damaged");
  }
}

uint32_t crc32_of(std::span<const uint8_t> bytes) {
  return static_cast<uint32_t>(::crc32_z(0, bytes.data(), bytes.size()));
}

}  // namespace shoal::data
