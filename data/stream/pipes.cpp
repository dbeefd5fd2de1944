#include "data/stream/pipes.h"

#include <atomic>
#include <stdexcept>
#include <utility>

#include "data/stream/epoch.h"
#include "data/stream/pipe_source.h"
#include "data/stream/shuffled.h"

namespace shoal::data {
namespace {

constexpr int64_t kReady = 256;  // pictures

// A stream and the pipe it reads.
class PipedStream : public RecordStream {
 public:
  PipedStream(const std::string& path, std::shared_ptr<Interrupt> interrupt,
              const PipePatience& patience, const StreamLabels& labels, const ExampleKeys& keys)
      : source_(path, std::move(interrupt), patience),
        stream_(open_stream(source_, labels, keys)) {}
  bool next(StreamPicture& picture) override { return stream_->next(picture); }

 private:
  PipeSource source_;
  std::unique_ptr<RecordStream> stream_;
};

// Of the pictures of another stream those whose numbers are `index`, `index` + `count` ….
class SharedStream : public RecordStream {
 public:
  SharedStream(std::unique_ptr<RecordStream> stream, int64_t index, int64_t count)
      : stream_(std::move(stream)), index_(index), count_(count) {}
  bool next(StreamPicture& picture) override {
    while (stream_->next(picture))
      if (number_++ % count_ == index_) return true;
    return false;
  }

 private:
  std::unique_ptr<RecordStream> stream_;
  int64_t index_, count_, number_ = 0;
};

class NoPictures : public RecordStream {
 public:
  bool next(StreamPicture&) override { return false; }
};

class Pipes : public Dataset {
 public:
  Pipes(std::string path, const OpenOptions& options)
      : path_(std::move(path)),
        labels_(std::make_shared<StreamLabels>(options.classes)),
        keys_(std::make_shared<ExampleKeys>(parse_example_keys(options.tfrecord_keys))),
        shuffle_buffer_(options.shuffle_buffer),
        index_(options.stream_index),
        count_(options.stream_count),
        patience_(options.pipe_patience) {}

  int64_t size() const override { return 0; }
  const std::vector<std::string>& classes() const override { return labels_->classes(); }
  int32_t label(int64_t) const override { unknown(); }
  std::string name(int64_t) const override { return path_; }
  void read(int64_t, std::vector<uint8_t>&) const override { unknown(); }
  bool streamed() const override { return true; }

  std::shared_ptr<StreamEpoch> begin_epoch(const EpochRequest& request) const override {
    const auto interrupt = std::make_shared<Interrupt>();
    const std::string pipe = path_.empty() ? "" : path_ + "_" + std::to_string(begun_++);
    const int64_t buffer = request.shuffled ? shuffle_buffer_ : 0;
    const auto open = [=, labels = labels_, keys = keys_, patience = patience_, index = index_,
                       count = count_]() -> std::unique_ptr<RecordStream> {
      if (pipe.empty()) return std::make_unique<NoPictures>();
      auto piped = std::make_unique<PipedStream>(pipe, interrupt, patience, *labels, *keys);
      auto share = std::make_unique<SharedStream>(std::move(piped), index, count);
      return std::make_unique<ShuffledStream>(std::move(share), buffer, request.seed,
                                              request.epoch);
    };
    return std::make_shared<StreamEpoch>(
        open, [interrupt] { interrupt->raise(); }, request, kReady);
  }

 private:
  [[noreturn]] void unknown() const {
    throw std::logic_error(path_ + " is read from front to back only");
  }

  std::string path_;
  std::shared_ptr<const StreamLabels> labels_;
  std::shared_ptr<const ExampleKeys> keys_;
  int64_t shuffle_buffer_, index_, count_;
  PipePatience patience_;
  mutable std::atomic<int64_t> begun_{0};
};

}  // namespace

std::shared_ptr<const Dataset> open_pipes(const std::string& path, const OpenOptions& options) {
  if (options.classes.empty())
    throw std::invalid_argument(
        "a pipe cannot be looked over to find the classes; name them with --classes FILE (one name "
        "in each line), or --classes N where labels are numbers");
  return std::make_shared<Pipes>(path, options);
}

bool is_pipe_source(const std::string& source) {
  return source.starts_with("pipe:");
}

}  // namespace shoal::data
