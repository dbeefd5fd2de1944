#pragma once
// A set of labelled images that can be read in any order.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/byte_source.h"
#include "data/data_options.h"
#include "data/jpeg/seek_index.h"

namespace shoal::data {

class StreamEpoch;    // stream/epoch.h
struct EpochRequest;  // likewise

// Where an image begins.
struct FilePlace {
  uint32_t file = 0;  // number of the file among those of the source
  uint64_t offset = 0;
};

// Immutable after construction; every method may be called from any thread at the same time.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;  // images
  // Names, sorted; a label is an index into it.
  virtual const std::vector<std::string>& classes() const = 0;
  virtual int32_t label(int64_t sample) const = 0;
  virtual std::string name(int64_t sample) const = 0;  // path or key, for messages
  // Replaces `bytes` with the encoded image. Throws std::runtime_error with name() and the
  // system's reason.
  virtual void read(int64_t sample, std::vector<uint8_t>& bytes) const = 0;
  // These neighbouring samples will be read before long. A hint.
  virtual void will_read(int64_t /*first*/, int64_t /*count*/) const {}
  // The seek index that is kept with the image, after read(); false when there is none.
  virtual bool seek_index(int64_t /*sample*/, jpeg::SeekIndex& /*index*/) const { return false; }
  virtual bool keeps_indexes() const { return false; }  // none need be learnt
  // Of the encoded image, where that is known without looking at it; else -1.
  virtual int64_t encoded_bytes(int64_t /*sample*/) const { return -1; }

  // Of images of which many lie in a file that can be read forward; else nothing.
  virtual std::optional<FilePlace> file_place(int64_t /*sample*/) const { return std::nullopt; }
  // Files that are read forward are read from the front again. Nobody may be reading.
  virtual void start_over() const {}

  // Images come one after the other, and only begin_epoch() gives them: read() is not called, and
  // label() neither where size() is 0 because nobody knows how many come.
  virtual bool streamed() const { return false; }
  // The images of one more epoch. Null: they can be read in any order.
  virtual std::shared_ptr<StreamEpoch> begin_epoch(const EpochRequest&) const { return nullptr; }
};

struct OpenOptions {
  std::string cache_dir;  // where listings are kept between runs; empty: nowhere
  int threads = 16;       // that list folders
  // Called now and then while listing, one call at a time, from any thread.
  std::function<void(int64_t files)> progress;
  // Called with a sentence about what did not stop the opening.
  std::function<void(const std::string&)> warning;
  // The training set's, when it is known: labels of records are looked up in it.
  std::vector<std::string> classes;
  // Files that tell the classes of images without any (sources/labels.h); empty: none.
  std::string labels, synsets;
  std::string tfrecord_keys;  // sources/tf_example.h; empty: ImageNet's
  // Only the images are wanted: labels are neither needed nor looked at. All samples have the label 0
  // of one class without a name, in the order of their file.
  bool unlabelled = false;
  // Images will be read once, one after the other: compressed files may be opened too.
  bool in_order = false;
  // Of streams (stream/shuffled.h, stream/pipe_source.h).
  int64_t shuffle_buffer = 1024;  // images
  PipePatience pipe_patience;
  // Of its images only number stream_index of each stream_count: others take the rest.
  int64_t stream_index = 0, stream_count = 1;
  StreamRelay relay;
  // Of files that hold many images; where it is forward, such files may be compressed, and their
  // images must be read in the files' order (stream/whole_files.h).
  Reads reads = Reads::seeking;
};

// Opens a dataset by its kind: "synthetic:IMAGES[:CLASSES[:WIDTHxHEIGHT]]", "folder:DIR",
// "pipe:PATH" (stream/pipes.h), or just a path or a pattern (sources/patterns.h), told apart by
// content: a folder of class folders, a packed set (pack/reader.h), tars (sources/tar_source.h), or
// a folder of such files. Throws std::invalid_argument for what the user must mend,
// std::runtime_error where the system fails.
std::shared_ptr<const Dataset> open_dataset(const std::string& source,
                                            const OpenOptions& options = {});

// Of classes, names, labels and known sizes of all images, in their order: equal where two ranks
// have found the same. What names have of `source` at their beginning does not count.
uint64_t listing_hash(const Dataset& dataset, const std::string& source);

// The names in quotes and with commas, five at most: "'a', 'b' and 3 more".
std::string quoted_names(const std::vector<std::string>& names);

// Throws std::invalid_argument naming the first classes that differ.
void check_same_classes(const Dataset& train, const Dataset& val);

}  // namespace shoal::data
