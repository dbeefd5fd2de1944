#pragma once
// Decompresses gzip, zlib and raw deflate data with the system's zlib.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "data/file.h"

namespace shoal::data {

// Recognizes compression formats that shoal cannot read. `head`: the first bytes of a file. Returns
// the tool that decompresses it: "zstd", "xz" or "bzip2", or an empty text for other files.
std::string_view foreign_compression(std::span<const uint8_t> head);

// Whether `head` (the first bytes of a file) begins like gzip data.
bool is_gzip(std::span<const uint8_t> head);
// Whether `head` begins like gzip or zlib data. Also true for some texts, because their first two
// letters may look like zlib.
bool is_compressed(std::span<const uint8_t> head);

// Decompresses `head` and returns the first `bytes` bytes of the result, or fewer if `head` ends
// earlier or is damaged.
std::vector<uint8_t> inflate_head(std::span<const uint8_t> head, size_t bytes);

constexpr uint64_t kMaxInflated = uint64_t{1} << 32;  // bytes

// Decompresses the whole file, with all of its gzip members, into a file in memory. The result has
// the same path(). Throws std::invalid_argument if the file is damaged, cut short, or larger than
// `most` bytes decompressed. Throws FileFailure if reading the file or writing to memory fails.
std::shared_ptr<const File> inflate_file(const File& file, uint64_t most = kMaxInflated);

// Decompresses raw deflate data (without a header): `packed` bytes of `file` from `offset` on.
// Replaces `to` with the first `count` bytes (1 to kMaxFileBytes) of the result. Returns whether
// these are the whole result. Throws DamagedImage if the data is damaged or yields fewer bytes.
// Also throws what read_fully() throws.
bool inflate_raw(const File& file, uint64_t offset, uint64_t packed, uint64_t count,
                 std::vector<uint8_t>& to);

// Returns the CRC-32 that gzip and zip use.
uint32_t crc32_of(std::span<const uint8_t> bytes);

}  // namespace shoal::data
