#pragma once
// A table of the images in the files of a source (position, class, name), and the dataset that
// reads them.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/container/open_files.h"
#include "data/container/scan.h"
#include "data/dataset.h"

namespace shoal::data {

struct Image {
  uint64_t offset = 0, bytes = 0;  // position and size in its file
  uint32_t file = 0;               // index of the file
  int32_t label = 0;               // index into the classes
  // Number of bytes that the image's record has before and after the image. Datasets that override
  // read() may store other numbers here, such as records/record_io.cpp and
  // sources/archives/zip_source.cpp.
  uint32_t before = 0, behind = 0;
};

struct Catalogue {
  std::vector<std::string> classes;
  std::vector<Image> images;
  std::vector<uint64_t> name_ends;  // per image: offset of its name's end in `names`
  std::string names;                // names of the images inside their files, concatenated

  std::string_view name(int64_t sample) const;
};

// An image found by a scan, and its label.
struct Placed {
  uint32_t file = 0, entry = 0;  // index of the scan, and of the entry in it
  int32_t label = 0;             // index into the classes
};

// Returns a catalogue of the images in `placed`, in that order. scans[i]: scan of file i.
Catalogue make_catalogue(const std::vector<Scan>& scans, const std::vector<Placed>& placed,
                         std::vector<std::string> classes);

// Returns the numbers from 0 to count - 1, padded with zeros to the same length.
std::vector<std::string> numbered_classes(int64_t count);

// Returns a catalogue of all images, in the order of files and records, with the labels of the
// scans. Each label is the name or the index of one of the classes `known`, which are those of the
// training set. If `known` is empty, the classes are the sorted names that occur as labels, or
// numbered_classes() up to the largest label. If every image has both a class name and a number,
// uses the names. But if `known` is not empty and contains none of these names, uses the numbers.
// Throws std::invalid_argument with the image's name if its label is missing or not one of the
// classes, or if some labels are names and others numbers.
Catalogue catalogue_by_label(const std::vector<SourceFile>& files, const std::vector<Scan>& scans,
                             const std::vector<std::string>& known);

// Whether catalogue_by_label() uses class names as labels, and not numbers.
bool labeled_by_name(const std::vector<Scan>& scans, const std::vector<std::string>& known);

// Returns a catalogue of all images, in the order of files and records. All images are in a single
// class with an empty name.
Catalogue catalogue_unlabeled(const std::vector<Scan>& scans);

// Dataset of the images of a catalogue. Reads each image as one piece of its file; derived classes
// override read() for other layouts. Image names are PATH:NAME.
class ContainerDataset : public BasicDataset {
 public:
  ContainerDataset(std::vector<SourceFile> files, Catalogue catalogue,
                   Reads reads = Reads::seeking);

  int64_t size() const override { return static_cast<int64_t>(catalogue_.images.size()); }
  const std::vector<std::string>& classes() const override { return catalogue_.classes; }
  int32_t label(int64_t sample) const override { return image(sample).label; }
  std::string name(int64_t sample) const override;
  std::string key(int64_t sample) const override;
  int64_t encoded_bytes(int64_t sample) const override {
    return static_cast<int64_t>(image(sample).bytes);
  }
  std::optional<FilePlace> file_place(int64_t sample) const override {
    const uint32_t file = image(sample).file;
    return FilePlace{file, image(sample).offset, files_.at(file).path};
  }
  void start_over() const override { files_.close_all(); }
  // Throws DamagedImage if only this image cannot be read, std::runtime_error if its file has
  // changed or was removed.
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override;
  void will_read(int64_t first, int64_t count) const override;

 protected:
  const Image& image(int64_t sample) const {
    return catalogue_.images[static_cast<size_t>(sample)];
  }
  // Throws DamagedImage if image.bytes is above kMaxFileBytes.
  static void check_size(const Image& image);
  // See OpenFiles::open().
  std::shared_ptr<const File> open_file(uint32_t file) const { return files_.open(file); }

 private:
  OpenFiles files_;
  Catalogue catalogue_;
};

}  // namespace shoal::data
