#pragma once
// What gzip and zlib have compressed, through the system's zlib.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/file.h"

namespace shoal::data {

// True when the bytes begin as gzip or zlib data do.
bool is_compressed(std::span<const uint8_t> head);

// The first bytes of what `head` unpacks to, at most `bytes`; fewer where it is cut or damaged.
std::vector<uint8_t> inflate_head(std::span<const uint8_t> head, size_t bytes);

// The whole file unpacked into memory, under its own path; several gzip members count as one.
// Throws std::invalid_argument where it is damaged, cut short, or more than 4 GiB.
std::shared_ptr<const File> inflate_file(const File& file);

}  // namespace shoal::data
