#include "data/folder/image_folder.h"

#include <cerrno>
#include <filesystem>
#include <utility>

#include "data/container/image_extensions.h"
#include "data/container/image_files.h"
#include "data/errors.h"
#include "data/file.h"
#include "data/folder/listing.h"
#include "data/limits.h"

namespace shoal::data {
namespace {

// Whether an error affects only this file, so that it counts as a damaged image. Other errors (no
// memory, no file descriptors, a folder or file server that is gone) would affect the next file
// too.
bool concerns_one_file(int error, const std::string& path) {
  std::error_code ignored;
  switch (error) {
    case EACCES:
    case EPERM:
    case EIO:
    case EISDIR:
    case ELOOP:
      return true;
    case ENOENT:
    case ESTALE:  // the server is gone, or the file was replaced on the server
      return std::filesystem::is_directory(std::filesystem::path(path).parent_path(), ignored);
    default:
      return false;
  }
}

class ImageFolder : public BasicDataset {
 public:
  ImageFolder(std::string root, Listing listing)
      : root_(std::move(root)), listing_(std::move(listing)) {}

  int64_t size() const override { return listing_.files(); }
  const std::vector<std::string>& classes() const override { return listing_.classes; }
  int32_t label(int64_t sample) const override { return listing_.directory_of(sample).label; }
  std::string name(int64_t sample) const override {
    std::string path;
    write_path(sample, path);
    return path;
  }
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override {
    thread_local std::string path;  // avoids an allocation per image
    write_path(sample, path);
    read_image_file(path, bytes);
  }
  void will_read(int64_t first, int64_t count) const override {
    thread_local std::string path;
    for (int64_t i = first; i < first + count; ++i) {
      write_path(i, path);
      will_read_image_file(path);
    }
  }

 private:
  void write_path(int64_t sample, std::string& path) const {
    path = root_;
    path += '/';
    path += listing_.directory_of(sample).path;
    path += '/';
    path += listing_.name_of(sample);
  }

  std::string root_;
  Listing listing_;
};

Listing list_or_load(const std::string& path, const OpenOptions& options) {
  if (options.cache_dir.empty()) return list_folder(path, options.threads, options.progress);
  if (auto cached = load_listing(options.cache_dir, path)) return std::move(*cached);
  Listing listing = list_folder(path, options.threads, options.progress);
  try {
    save_listing(options.cache_dir, path, listing);
  } catch (const std::exception& error) {
    if (options.warning) options.warning(error.what());
  }
  return listing;
}

LeftOut left_out_of(const Listing& listing) {
  LeftOut left_out;
  for (const auto& file : listing.left_out) {
    if (file.stamp == kBrokenLink)
      left_out.add_broken(file.path);
    else if (file.path.find('/') == std::string::npos && has_image_extension(file.path))
      left_out.add_loose(file.path);
    else
      left_out.add(file.path);
  }
  left_out.hidden = listing.hidden;
  return left_out;
}

}  // namespace

void read_image_file(const std::string& path, std::vector<uint8_t>& bytes) {
  try {
    const int64_t size = read_file(path, kMaxFileBytes, bytes);
    if (size > kMaxFileBytes)
      throw DamagedImage("a file of " + std::to_string(size) + " bytes is too large for an image");
  } catch (const FileFailure& failure) {
    if (concerns_one_file(failure.error(), path)) throw DamagedImage(failure.what_failed());
    throw;
  }
}

void will_read_image_file(const std::string& path) {
  try {
    will_read_file(path);
  } catch (const FileFailure&) {  // read_image_file() will report the error
  }
}

std::shared_ptr<const Dataset> open_image_folder(const std::string& path,
                                                 const OpenOptions& options) {
  std::string root = path;
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  Listing listing = list_or_load(root, options);
  const LeftOut left_out = left_out_of(listing);
  if (options.warning && !left_out.empty()) options.warning(left_out.sentence(root));
  return std::make_shared<ImageFolder>(root, std::move(listing));
}

}  // namespace shoal::data
