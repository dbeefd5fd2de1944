#include "data/sources/images.h"

#include <algorithm>
#include <climits>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "base/file/folder.h"
#include "data/container/image_extensions.h"
#include "data/container/image_files.h"
#include "data/errors.h"
#include "data/file.h"
#include "data/folder/image_folder.h"
#include "data/folder/patterns.h"
#include "data/pack/reader.h"
#include "data/pack/shards.h"
#include "data/sources/location.h"
#include "data/sources/open.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;

// One image file, or one dataset of images.
struct ImageSource {
  std::string file;
  std::shared_ptr<const Dataset> set;
  int64_t end = 0;  // one past this source's last sample, as an index in Images
};

class Images : public BasicDataset {
 public:
  void add(std::string file) { parts_.push_back({std::move(file), nullptr, size() + 1}); }
  void add(std::shared_ptr<const Dataset> set) {
    const int64_t end = size() + set->size();
    parts_.push_back({"", std::move(set), end});
  }

  int64_t size() const override { return parts_.empty() ? 0 : parts_.back().end; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int32_t label(int64_t /*sample*/) const override { return 0; }
  std::string name(int64_t sample) const override {
    const auto [part, inside] = place(sample);
    return part.set ? part.set->name(inside) : part.file;
  }
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override {
    try {
      const auto [part, inside] = place(sample);
      if (part.set) return part.set->read(inside, bytes);
      std::error_code error;
      if (!fs::exists(part.file, error)) throw DamagedImage("the file does not exist");
      read_image_file(part.file, bytes);
    } catch (const MissingLibrary&) {
      throw;  // the image itself is not damaged
    } catch (const DamagedImage&) {
      throw;
    } catch (const std::runtime_error& error) {
      throw DamagedImage(error.what());
    }
  }

 private:
  std::pair<const ImageSource&, int64_t> place(int64_t sample) const {
    const auto part =
        std::upper_bound(parts_.begin(), parts_.end(), sample,
                         [](int64_t wanted, const ImageSource& one) { return wanted < one.end; });
    return {*part, sample - (part == parts_.begin() ? 0 : std::prev(part)->end)};
  }

  std::vector<ImageSource> parts_;
  std::vector<std::string> classes_ = {""};
};

bool is_set(const std::string& path, bool named) {
  if (is_sharded_set(path)) return true;
  std::error_code error;  // ignored: reading the file as an image reports the reason
  if (!fs::is_regular_file(path, error)) return false;
  try {
    return is_packed_set(path) || (!has_image_extension(path) && is_record_file(path, named));
  } catch (const FileFailure&) {
    return false;
  }
}

bool contains_any(const std::string& folder, const std::vector<fs::path>& paths) {
  return std::ranges::any_of(paths, [&](const auto& path) { return is_inside(path, folder); });
}

// `above`: canonical paths of the folders that led to `folder`. Links to one of them, or to a
// folder that contains one of them, are not followed: they would list the same files again.
void add_files_below(const std::string& folder, std::vector<fs::path>& above,
                     std::vector<std::string>& files, LeftOut& left_out) {
  above.push_back(fs::canonical(folder));
  for (const auto& entry : entries_of(folder)) {
    const std::string path = entry.path().string();
    std::error_code broken;
    if (!entry.exists(broken)) {  // a link to itself is broken, too
      left_out.add_broken(path);
      continue;
    }
    const bool hidden = entry.path().filename().string().starts_with('.');
    if (hidden) {
      left_out.hidden += entry.is_regular_file();
    } else if (entry.is_regular_file() || (entry.is_directory() && is_sharded_set(path))) {
      files.push_back(path);
    } else if (entry.is_directory() && !(entry.is_symlink() && contains_any(path, above))) {
      add_files_below(path, above, files, left_out);
    }
  }
  above.pop_back();
}

// Lists the files below a folder, sorted. A packed set that is a folder counts as one file.
std::vector<std::string> files_below(const std::string& folder, LeftOut& left_out) {
  std::vector<fs::path> above;
  std::vector<std::string> files;
  add_files_below(folder, above, files, left_out);
  std::sort(files.begin(), files.end());
  return files;
}

class Opener {
 public:
  explicit Opener(OpenOptions options) : options_(std::move(options)) {
    options_.unlabeled = true;
    options_.in_order = true;
  }

  void open_list(const std::vector<std::string>& lines) {
    const int64_t before = images_->size();
    for (size_t i = 0; i < lines.size(); ++i) {
      std::string line = lines[i];
      while (line.ends_with('\r')) line.pop_back();
      try {
        if (!line.empty()) open(line, /*may_be_pattern=*/false);
      } catch (const std::invalid_argument& error) {
        throw std::invalid_argument("standard input line " + std::to_string(i + 1) + ": " +
                                    error.what());
      }
    }
    if (images_->size() == before) throw std::invalid_argument("standard input names no image");
  }

  void open(const std::string& source, bool may_be_pattern = true) {
    const int64_t before = images_->size();
    if (source.size() >= PATH_MAX || source.find('\0') != std::string::npos)
      throw std::invalid_argument("an image's path is too long or contains a zero byte");
    std::error_code error;
    const Location location = resolve(source);
    if (location.is_pipe())
      throw std::invalid_argument(source + " is a pipe; name files or folders");
    if (fs::is_other(source, error))
      throw std::invalid_argument(source + " is a pipe or a device; name files or folders");
    if (location.kind != Location::Kind::path || is_set(source, /*named=*/true))
      images_->add(open_dataset(source, options_));
    else if (fs::is_directory(source, error))
      add_found(files_below(source, left_out_));
    else if (may_be_pattern && is_pattern(source))
      add_found(expand_pattern(source));
    else
      images_->add(source);
    if (images_->size() == before) throw std::invalid_argument(source + " has no image");
  }

  std::shared_ptr<const Dataset> finish(const std::string& sources) {
    if (options_.warning && !left_out_.empty()) options_.warning(left_out_.sentence(sources));
    return images_;
  }

 private:
  void add_found(const std::vector<std::string>& files) {
    for (const std::string& file : files) {
      if (is_set(file, /*named=*/false))
        images_->add(open_dataset(file, options_));
      else if (is_image_file(file))
        images_->add(file);
      else
        left_out_.add(file);
    }
  }

  OpenOptions options_;
  std::shared_ptr<Images> images_ = std::make_shared<Images>();
  LeftOut left_out_;
};

}  // namespace

std::shared_ptr<const Dataset> open_images(const std::vector<std::string>& sources,
                                           OpenOptions options,
                                           const std::vector<std::string>& list) {
  Opener opener(std::move(options));
  for (const std::string& source : sources) {
    if (source == "-")
      opener.open_list(list);
    else
      opener.open(source);
  }
  return opener.finish(sources.size() == 1 ? sources[0] : "all sources");
}

}  // namespace shoal::data
