#pragma once
// A table of the images in the files of a source (place, class, name), and the dataset that reads
// them.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/sources/open_files.h"
#include "data/sources/scan.h"

namespace shoal::data {

struct Image {
  uint64_t offset = 0, bytes = 0;  // in its file
  uint32_t file = 0;               // number of the file
  int32_t label = 0;               // index into the classes
  // Bytes of its record before and behind the image. For RecordIO records in parts, see record_io.cpp.
  uint32_t before = 0, behind = 0;
};

struct Catalogue {
  std::vector<std::string> classes;
  std::vector<Image> images;
  std::vector<uint64_t> name_ends;  // per image: end of its name in `names`
  std::string names;                // names inside their files, one after the other

  std::string_view name(int64_t sample) const;
};

// An entry of a scan, with its label.
struct Placed {
  uint32_t file = 0, entry = 0;
  int32_t label = 0;
};

// Makes a catalogue of `placed`, in that order.
Catalogue make_catalogue(const std::vector<Scan>& scans, const std::vector<Placed>& placed,
                         std::vector<std::string> classes);

// Makes a catalogue of all images, in the order of files and records, with the labels of the scans.
// With `known` (classes of the training set), a label is one of these names or an index into them.
// Without, the classes are the names, sorted, or the numbers from 0 to the largest, padded with zeros
// to the same length. Throws std::invalid_argument naming an image that has no label or one outside
// the classes.
Catalogue catalogue_by_label(const std::vector<SourceFile>& files, const std::vector<Scan>& scans,
                             const std::vector<std::string>& known);

// Makes a catalogue of all images in the same order, with one class that has an empty name.
Catalogue catalogue_unlabelled(const std::vector<Scan>& scans);

// Reads images that are stored in one piece. Names are PATH:NAME.
class ContainerDataset : public BasicDataset {
 public:
  ContainerDataset(std::vector<SourceFile> files, Catalogue catalogue,
                   Reads reads = Reads::seeking);

  int64_t size() const override { return static_cast<int64_t>(catalogue_.images.size()); }
  const std::vector<std::string>& classes() const override { return catalogue_.classes; }
  int32_t label(int64_t sample) const override { return image(sample).label; }
  std::string name(int64_t sample) const override;
  int64_t encoded_bytes(int64_t sample) const override {
    return static_cast<int64_t>(image(sample).bytes);
  }
  std::optional<FilePlace> file_place(int64_t sample) const override {
    return FilePlace{image(sample).file, image(sample).offset};
  }
  void start_over() const override { files_.close_all(); }
  // Throws DamagedImage if only this image cannot be read, std::runtime_error if its file has changed
  // or is gone.
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override;
  void will_read(int64_t first, int64_t count) const override;

 protected:
  const Image& image(int64_t sample) const {
    return catalogue_.images[static_cast<size_t>(sample)];
  }
  // Stays open while the caller holds it. Throws like OpenFiles::open.
  std::shared_ptr<const File> open_file(uint32_t file) const { return files_.open(file); }

 private:
  OpenFiles files_;
  Catalogue catalogue_;
};

}  // namespace shoal::data
