#pragma once
// The members of a tar file, in place (tar_walker.h: which tars).

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/byte_source.h"

namespace shoal::data {

struct TarMember {
  std::string name;           // as it stands there, without a leading ./
  uint64_t offset = 0;        // of its content, in the file
  uint64_t bytes = 0;         // of its content
  uint64_t header_place = 0;  // of its own header, in the file; for messages
  std::string content;        // as much of it as is kept
};

// How many bytes of a member's content are kept, at most its length `bytes`.
using KeepContent = std::function<uint64_t(std::string_view name, uint64_t bytes)>;

// The regular files of the tar that lies in [begin, end) of `file`, in their order. A hard link is
// the member it points to under another name; directories, devices and other things without
// content are left out. Only headers and what `keep` asks for are read, in rising order; the latter
// stays in memory with its member. Throws
// std::invalid_argument with path and place where the tar is damaged, cut short (also when only its
// end mark is missing), or has something that cannot be read in place: a sparse file, a symbolic
// link, a part of a multi-volume archive.
std::vector<TarMember> list_tar(const File& file, uint64_t begin, uint64_t end,
                                const KeepContent& keep = {});

// True when the file begins as a tar does: with a header whose checksum is right.
bool is_tar(const File& file);

}  // namespace shoal::data
