#pragma once
// Lists the members of a tar file, so that they can be read in place. See tar_walker.h for the
// supported formats.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/byte_source.h"

namespace shoal::data {

struct TarMember {
  std::string name;     // like TarEntry::name
  uint64_t offset = 0;  // offset of its content in the file
  uint64_t bytes = 0;   // size of its content
  std::string content;  // its first bytes; see KeepContent
};

// Returns how many bytes of a member's content to keep, at most its size `bytes`. A hard
// link has the size and content of its target.
using KeepContent = std::function<uint64_t(std::string_view name, uint64_t bytes)>;

// Lists the regular files of the tar in [begin, end) of `file`, in order. A hard link is listed as
// its target under another name. Leaves out directories, devices and other members without content.
// Reads only headers and the content that `keep` asks for, front to back. Throws
// std::invalid_argument with path and offset if the tar is damaged, cut short (even if only the end
// mark is missing), followed by another tar, or has a member that cannot be read in place: a sparse
// file, a symbolic link, a hard link to a file that does not precede it, a part of a multi-volume
// archive.
std::vector<TarMember> list_tar(const File& file, uint64_t begin, uint64_t end,
                                const KeepContent& keep = {});

// Whether the file starts with a tar header that has a correct checksum.
bool is_tar(const File& file);

}  // namespace shoal::data
