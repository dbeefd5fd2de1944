#pragma once
// Labelled images that can be read in any order, by several threads at a time.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/byte_source.h"
#include "data/data_options.h"
#include "data/jpeg/seek_index.h"
#include "data/source.h"

namespace shoal::data {

// Where an image begins.
struct FilePlace {
  uint32_t file = 0;  // index among the files of the dataset
  uint64_t offset = 0;
};

// Every function is pure, so that a decorator cannot forget one: derive it from ForwardingDataset,
// and a dataset that reads images itself from BasicDataset.
class Dataset : public Source {
 public:
  Access access() const final { return Access::random; }
  virtual int32_t label(int64_t sample) const = 0;
  virtual std::string name(int64_t sample) const = 0;  // path or key, for messages
  // Replaces `bytes` with the encoded image. Throws DamagedImage where only this image is bad,
  // std::runtime_error with name() and the system's reason otherwise.
  virtual void read(int64_t sample, std::vector<uint8_t>& bytes) const = 0;
  // Hint: `count` samples from `first` on will be read soon.
  virtual void will_read(int64_t first, int64_t count) const = 0;
  // Reads the seek index that is stored with the image; call after read(). Returns false if there
  // is none.
  virtual bool seek_index(int64_t sample, jpeg::SeekIndex& index) const = 0;
  // Whether the dataset stores seek indexes, so that none need be built while training.
  virtual bool keeps_indexes() const = 0;
  // Size of the encoded image if known without reading it, else -1.
  virtual int64_t encoded_bytes(int64_t sample) const = 0;
  // Place of the image in a file that holds many images; nothing for other datasets.
  virtual std::optional<FilePlace> file_place(int64_t sample) const = 0;
  // Makes files that are read forward start at their first byte again. Must not run while another
  // thread reads.
  virtual void start_over() const = 0;
};

// A dataset without the optional abilities; derived classes override those they have.
class BasicDataset : public Dataset {
 public:
  void will_read(int64_t /*first*/, int64_t /*count*/) const override {}
  bool seek_index(int64_t /*sample*/, jpeg::SeekIndex& /*index*/) const override { return false; }
  bool keeps_indexes() const override { return false; }
  int64_t encoded_bytes(int64_t /*sample*/) const override { return -1; }
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
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override {
    inner_->read(inner_sample(sample), bytes);
  }
  void will_read(int64_t first, int64_t count) const override;
  bool seek_index(int64_t sample, jpeg::SeekIndex& index) const override {
    return inner_->seek_index(inner_sample(sample), index);
  }
  bool keeps_indexes() const override { return inner_->keeps_indexes(); }
  int64_t encoded_bytes(int64_t sample) const override {
    return inner_->encoded_bytes(inner_sample(sample));
  }
  std::optional<FilePlace> file_place(int64_t sample) const override {
    return inner_->file_place(inner_sample(sample));
  }
  void start_over() const override { inner_->start_over(); }

 protected:
  const Dataset& inner() const { return *inner_; }
  // The sample of the inner dataset that is `sample` here.
  virtual int64_t inner_sample(int64_t sample) const { return sample; }

 private:
  std::shared_ptr<const Dataset> inner_;
};

struct OpenOptions {
  std::string cache_dir;  // folder where listings are cached between runs; empty: no cache
  int threads = 16;       // that list folders
  // Called from time to time while listing; one call at a time, from any thread.
  std::function<void(int64_t files)> progress;
  // Called with a sentence about a problem that does not prevent opening.
  std::function<void(const std::string&)> warning;
  // Classes of the training set, if known: labels of records are looked up in them.
  std::vector<std::string> classes;
  // Files with the classes of images that have none of their own (labels/labels.h); empty: none.
  std::string labels, synsets;
  std::string tfrecord_keys;  // records/tf_example.h; empty: ImageNet's
  // Ignores labels: all samples get label 0 of one class with an empty name, in file order.
  bool unlabelled = false;
  // The caller reads the images once and in order, so compressed files are accepted.
  bool in_order = false;
  // Streams only (stream/shuffled.h, stream/pipe_source.h).
  int64_t shuffle_buffer = 1024;  // images
  PipePatience pipe_patience;
  // Takes images stream_index, stream_index + stream_count, …; other processes take the rest.
  int64_t stream_index = 0, stream_count = 1;
  StreamRelay relay;
  // How files that hold many images are read. With Reads::forward they may be compressed, and their
  // images must be read in file order (stream/whole_files.h).
  Reads reads = Reads::seeking;
};

// Opens a dataset by its kind: "synthetic:IMAGES[:CLASSES[:WIDTHxHEIGHT]]", "folder:DIR", or just a
// path or a pattern (folder/patterns.h), told apart by content: a folder of class folders, a packed
// set (pack/reader.h), files of records (sources/open.h), or a folder of such files. Throws
// std::invalid_argument for what the user must correct, std::runtime_error where the system fails.
// Streams are opened by open_stream() (sources/location.h).
std::shared_ptr<const Dataset> open_dataset(const std::string& source,
                                            const OpenOptions& options = {});

// Hash of classes, names, labels and known sizes of all images, in their order: equal where two
// ranks have found the same images. The prefix `source` of a name does not count.
uint64_t listing_hash(const Dataset& dataset, const std::string& source);

// At most five names, quoted: "'a', 'b' and 3 more".
std::string quoted_names(const std::vector<std::string>& names);

// Throws std::invalid_argument naming the first classes that differ.
void check_same_classes(const Source& train, const Source& val);

}  // namespace shoal::data
