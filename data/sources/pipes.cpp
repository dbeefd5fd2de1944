#include "data/sources/pipes.h"

#include <atomic>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "data/sources/any_stream.h"
#include "data/stream/pipe_source.h"
#include "data/stream/relay.h"
#include "data/stream/shuffled.h"

namespace shoal::data {
namespace {

// A stream that owns the pipe that it reads.
class PipedStream : public RecordStream {
 public:
  PipedStream(const std::string& path, std::shared_ptr<Interrupt> interrupt,
              const PipePatience& patience, const StreamLabels& labels, const ExampleKeys& keys)
      : source_(path, std::move(interrupt), patience),
        stream_(open_record_stream(source_, labels, keys)) {}
  bool next(StreamImage& image) override { return stream_->next(image); }

 private:
  PipeSource source_;
  std::unique_ptr<RecordStream> stream_;
};

// Returns every `count`-th image of another stream, starting with image number `index`.
class SharedStream : public RecordStream {
 public:
  SharedStream(std::unique_ptr<RecordStream> stream, int64_t index, int64_t count)
      : stream_(std::move(stream)), index_(index), count_(count) {}
  bool next(StreamImage& image) override {
    while (stream_->next(image))
      if (number_++ % count_ == index_) return true;
    return false;
  }

 private:
  std::unique_ptr<RecordStream> stream_;
  int64_t index_, count_, number_ = 0;
};

class NoImages : public RecordStream {
 public:
  bool next(StreamImage&) override { return false; }
};

class Pipes : public Stream, public std::enable_shared_from_this<Pipes> {
 public:
  Pipes(std::string path, const OpenOptions& options)
      : path_(std::move(path)),
        labels_(options.classes),
        keys_(parse_example_keys(options.tfrecord_keys)),
        shuffle_buffer_(options.shuffle_buffer),
        index_(options.stream_index),
        count_(options.stream_count),
        relay_(options.relay),
        patience_(options.pipe_patience) {}

  ~Pipes() override {
    std::error_code ignored;  // remove() fails while other processes still use the folder
    if (relay_.count > 1) std::filesystem::remove(relay_.folder, ignored);
  }
  Pipes(const Pipes&) = delete;
  Pipes& operator=(const Pipes&) = delete;

  Access access() const override { return Access::pipe; }
  int64_t size() const override { return 0; }
  const std::vector<std::string>& classes() const override { return labels_.classes(); }

  std::shared_ptr<StreamEpoch> begin_epoch(const EpochRequest& request) const override {
    const auto interrupt = std::make_shared<Interrupt>();
    const int64_t number = begun_++;
    const auto open = [=, self = shared_from_this()] {
      return std::make_unique<ShuffledStream>(self->open_own(number, interrupt),
                                              request.shuffled ? self->shuffle_buffer_ : 0,
                                              request.seed, request.epoch);
    };
    return std::make_shared<StreamEpoch>(
        open, [interrupt] { interrupt->raise(); }, request, StreamEpoch::kReadAhead);
  }

 private:
  // Returns the images of pipe `number` that this process takes.
  std::unique_ptr<RecordStream> open_own(int64_t number,
                                         const std::shared_ptr<Interrupt>& interrupt) const {
    if (path_.empty()) return std::make_unique<NoImages>();
    if (relay_.place > 0) return open_relayed(relay_, number, interrupt, patience_);
    auto stream = std::make_unique<SharedStream>(
        std::make_unique<PipedStream>(path_ + "_" + std::to_string(number), interrupt, patience_,
                                      labels_, keys_),
        index_, count_);
    if (relay_.count == 1) return stream;
    return open_relay(std::move(stream), relay_, number, interrupt, patience_);
  }

  std::string path_;
  StreamLabels labels_;
  ExampleKeys keys_;
  int64_t shuffle_buffer_, index_, count_;
  StreamRelay relay_;
  PipePatience patience_;
  mutable std::atomic<int64_t> begun_{0};
};

}  // namespace

std::shared_ptr<const Stream> open_pipes(const std::string& path, const OpenOptions& options) {
  if (options.classes.empty())
    throw std::invalid_argument(
        "a pipe cannot be searched for its classes; name them with --classes FILE (one name per "
        "line), or give their number with --classes N if labels are numbers");
  return std::make_shared<Pipes>(path, options);
}

}  // namespace shoal::data
