#pragma once
// Datasets: labeled images that several threads can read at the same time, in any order.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/byte_source.h"
#include "data/data_options.h"
#include "data/source.h"

namespace shoal::data {

namespace jpeg {
struct SeekPoint;
}

// Where an encoded image begins.
struct FilePlace {
  uint32_t file = 0;      // index among the files of the dataset
  uint64_t offset = 0;    // bytes
  std::string_view path;  // path of the file; valid while the dataset exists
};

// All functions are pure virtual, so that no decorator forgets to forward one. Derive decorators
// from ForwardingDataset, and datasets that read images themselves from BasicDataset.
class Dataset : public Source {
 public:
  Access access() const final { return Access::random; }
  virtual int32_t label(int64_t sample) const = 0;
  virtual std::string name(int64_t sample) const = 0;  // path or key, for messages
  // Name that is the same wherever the dataset is stored (see split_key() in split.h). --val-split
  // and --fraction choose images by a hash of this name.
  virtual std::string key(int64_t sample) const = 0;
  // Replaces `bytes` with the encoded image. Throws DamagedImage if only this image is bad,
  // std::runtime_error with name() and the system's reason for other errors.
  virtual void read(int64_t sample, std::vector<uint8_t>& bytes) const = 0;
  // Hint: `count` samples from `first` on will be read soon.
  virtual void will_read(int64_t first, int64_t count) const = 0;
  // Reads the seek index (jpeg/seek_index.h) that is stored with the image; call after read().
  // Returns false if there is none.
  virtual bool seek_index(int64_t sample, std::vector<jpeg::SeekPoint>& index) const = 0;
  // Whether the dataset stores seek indexes, so that training need not build any.
  virtual bool keeps_indexes() const = 0;
  // Size of the encoded image in bytes if it is known without reading it, else -1.
  virtual int64_t encoded_bytes(int64_t sample) const = 0;
  // Hash of the encoded image if it is stored with the image, else 0.
  virtual uint64_t stored_hash(int64_t sample) const = 0;
  // Place of the image in a file of many images; nothing for datasets of other kinds.
  virtual std::optional<FilePlace> file_place(int64_t sample) const = 0;
  // Prepares files opened with Reads::forward to be read from the front once more. Must not run
  // while another thread reads.
  virtual void start_over() const = 0;
};

// Returns `source` as a Dataset; null if it is a Stream.
const Dataset* as_dataset(const Source& source);

// Default implementations: key() uses the name, hints do nothing, and there is no optional data.
// Derived classes override the functions that they support.
class BasicDataset : public Dataset {
 public:
  std::string key(int64_t sample) const override;  // split_key() of the name
  void will_read(int64_t /*first*/, int64_t /*count*/) const override {}
  bool seek_index(int64_t /*sample*/, std::vector<jpeg::SeekPoint>& /*index*/) const override {
    return false;
  }
  bool keeps_indexes() const override { return false; }
  int64_t encoded_bytes(int64_t /*sample*/) const override { return -1; }
  uint64_t stored_hash(int64_t /*sample*/) const override { return 0; }
  std::optional<FilePlace> file_place(int64_t /*sample*/) const override { return std::nullopt; }
  void start_over() const override {}
};

// Forwards everything to another dataset; derived classes override what differs.
class ForwardingDataset : public Dataset {
 public:
  explicit ForwardingDataset(std::shared_ptr<const Dataset> inner) : inner_(std::move(inner)) {}

  int64_t size() const override { return inner_->size(); }
  const std::vector<std::string>& classes() const override { return inner_->classes(); }
  int32_t label(int64_t sample) const override { return inner_->label(inner_sample(sample)); }
  std::string name(int64_t sample) const override { return inner_->name(inner_sample(sample)); }
  std::string key(int64_t sample) const override { return inner_->key(inner_sample(sample)); }
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override {
    inner_->read(inner_sample(sample), bytes);
  }
  void will_read(int64_t first, int64_t count) const override;
  bool seek_index(int64_t sample, std::vector<jpeg::SeekPoint>& index) const override {
    return inner_->seek_index(inner_sample(sample), index);
  }
  bool keeps_indexes() const override { return inner_->keeps_indexes(); }
  int64_t encoded_bytes(int64_t sample) const override {
    return inner_->encoded_bytes(inner_sample(sample));
  }
  uint64_t stored_hash(int64_t sample) const override {
    return inner_->stored_hash(inner_sample(sample));
  }
  std::optional<FilePlace> file_place(int64_t sample) const override {
    return inner_->file_place(inner_sample(sample));
  }
  void start_over() const override { inner_->start_over(); }

 protected:
  const Dataset& inner() const { return *inner_; }
  // Converts a sample of this dataset to its index in the inner dataset.
  virtual int64_t inner_sample(int64_t sample) const { return sample; }

 private:
  std::shared_ptr<const Dataset> inner_;
};

struct OpenOptions {
  std::string cache_dir;  // folder where listings are cached between runs; empty: no cache
  int threads = 16;       // number of threads that list folders and scan files
  // Called repeatedly with the number of files (in a folder) or images (in files of many images)
  // found so far. Any thread may call it, one at a time.
  std::function<void(int64_t files)> progress;
  // Called with a sentence about a problem that does not prevent opening the dataset.
  std::function<void(const std::string&)> warning;
  // Classes of the training set, if known. A label stored with an image must be one of these names
  // or an index into them.
  std::vector<std::string> classes;
  // `labels`: file with the classes of images that are stored without a class. If it contains only
  // numbers, the file `synsets` maps them to classes (labels/labels.h). Empty: no file.
  std::string labels, synsets;
  bool others_elsewhere = false;  // other hosts have other files of this dataset (--sharded)
  std::string tfrecord_keys;  // value of --tfrecord-keys (records/tf_example.h); empty: defaults
  // Ignores labels: all samples get label 0, and the only class has an empty name. Samples are in
  // file order.
  bool unlabeled = false;
  // Tars and zips: opens only the images in the folder of this split, "train" or "val"
  // (sources/archives/split_folder.h). Empty: all images.
  std::string split;
  // The caller reads the images once and in order, so compressed files are accepted.
  bool in_order = false;
  bool val_unused = false;  // with split "train": warns if the file also has "val", which is unused
  // How files of many images are read. With Reads::forward, their images must be read in file order
  // (stream/whole_files.h).
  Reads reads = Reads::seeking;
  // The remaining options are for streams only (stream/shuffled.h, stream/pipe_source.h).
  int64_t shuffle_buffer = 1024;  // images
  PipePatience pipe_patience;
  // This process takes the images stream_index, stream_index + stream_count, …; other processes
  // take the rest.
  int64_t stream_index = 0, stream_count = 1;
  StreamRelay relay;
};

// Opens a dataset. `source` is a path, a pattern (folder/patterns.h) or a text with a prefix;
// sources/location.h describes all kinds. Throws std::invalid_argument for user errors,
// std::runtime_error for system errors. open_stream() opens streams (sources/location.h).
std::shared_ptr<const Dataset> open_dataset(const std::string& source,
                                            const OpenOptions& options = {});

// Returns a hash of the classes, names, labels and known sizes of all images, in their order. Equal
// hashes mean that two ranks have found the same images. Ignores the prefix `source` of names, so
// ranks may use different paths.
uint64_t listing_hash(const Dataset& dataset, const std::string& source);

// Whether the names are 0, 1, 2, …, with or without leading zeros.
bool are_numbers(const std::vector<std::string>& names);

// Returns at most five names, quoted, and the number of the others: "'a', 'b', …, 'e' and 3 more".
std::string quoted_names(std::vector<std::string> names);

// Returns a warning about classes that differ only in case, such as cat and Cat; empty if there are
// none.
std::string case_warning(const std::vector<std::string>& classes);

// Describes the classes that only one of the lists `a` and `b` contains: "only IN_A: NAMES; only
// IN_B: NAMES". Returns an empty text if there are none.
std::string class_difference(const std::vector<std::string>& a, const std::string& in_a,
                             const std::vector<std::string>& b, const std::string& in_b);

// Throws std::invalid_argument if the two sources have different classes. The message names, for
// each source, up to five classes that the other one lacks.
void check_same_classes(const Source& train, const Source& val);

}  // namespace shoal::data
