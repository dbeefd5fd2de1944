#pragma once
// Where each image of a source lies in its files, its class and its name; and the dataset that
// reads them from there.

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
  // Bytes of its record around it; of a RecordIO record in parts what record_io.cpp says.
  uint32_t before = 0, behind = 0;
};

struct Catalogue {
  std::vector<std::string> classes;
  std::vector<Image> images;
  std::vector<uint64_t> name_ends;  // per image: where its name, inside its file, ends in `names`
  std::string names;

  std::string_view name(int64_t sample) const;
};

// One image of a scan, in its place.
struct Placed {
  uint32_t file = 0, entry = 0;
  int32_t label = 0;
};

// A catalogue of `placed`, in that order.
Catalogue make_catalogue(const std::vector<Scan>& scans, const std::vector<Placed>& placed,
                         std::vector<std::string> classes);

// A catalogue of everything, in the order of files and records, classes by the labels in the scans.
// With `known` (the training set's classes) a label is one of those names, or counts in them from 0
// on; otherwise the classes are the labels' texts, sorted, or their numbers, from 0 to the largest,
// written with as many digits each. Throws std::invalid_argument naming an image that has no label
// or one outside the classes.
Catalogue catalogue_by_label(const std::vector<SourceFile>& files, const std::vector<Scan>& scans,
                             const std::vector<std::string>& known);

// A catalogue of everything, in that order, with one class without a name.
Catalogue catalogue_unlabelled(const std::vector<Scan>& scans);

// Reads images that lie in one piece. Names are PATH:NAME.
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
  // Throws DamagedImage where the image alone cannot be read, std::runtime_error when its file
  // has changed or is gone.
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override;
  void will_read(int64_t first, int64_t count) const override;

 protected:
  const Image& image(int64_t sample) const {
    return catalogue_.images[static_cast<size_t>(sample)];
  }
  // Open while the caller holds it; errors as OpenFiles::open.
  std::shared_ptr<const File> open_file(uint32_t file) const { return files_.open(file); }

 private:
  OpenFiles files_;
  Catalogue catalogue_;
};

}  // namespace shoal::data
