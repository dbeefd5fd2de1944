#pragma once
// Dataset of images in zip archives, read in place. Entries may be stored or compressed with
// deflate. Classes are found as in tars (tar_source.h): each of several zips without folders
// is a class, the folders in a zip are classes, and OpenOptions::labels names the classes of images
// without folders. Samples have the same indexes as in the class folders that unpacking the zips
// would create. Archives inside a zip are not read. Source: PKWARE's APPNOTE 6.3.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/file.h"

namespace shoal::data {

// Whether the file is a zip archive and is named .zip. The name matters because many other formats
// are zips, too: documents, packages, files of torch.save.
bool is_zip(const File& file);

// Opens the zips as one dataset. Reading verifies the CRC-32 of an image. Throws
// std::invalid_argument, naming the file and the entry, if a zip is damaged, split or cut short, if
// an entry cannot be read in place (encrypted, other compression, a symbolic link), or if an image
// has no class.
std::shared_ptr<const Dataset> open_zips(const std::vector<std::string>& paths,
                                         const OpenOptions& options);

// Whether a stream begins like a zip. Streams of zips are not read: the directory is at the end,
// and without it the sizes of entries may be unknown.
bool begins_zip(std::span<const uint8_t> head);

}  // namespace shoal::data
