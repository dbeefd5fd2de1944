#include "data/stream/whole_files.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "data/errors.h"
#include "data/order.h"
#include "data/stream/pipe_source.h"
#include "data/stream/shuffled.h"

namespace shoal::data {
namespace {

constexpr size_t kFilesAtATime = 16;  // number of files that training reads in turn

// A range [begin, end) of positions in the list of all samples, sorted by file and offset.
struct Stretch {
  int64_t begin = 0, end = 0;
};

// Returns the images of several stretches. Reads `at_a_time` stretches in turn, one image of each.
class TurnsStream : public RecordStream {
 public:
  // `samples`: all samples, sorted by file and offset. When `*stop` is true, the next read throws
  // Interrupted.
  TurnsStream(std::shared_ptr<const Dataset> set,
              std::shared_ptr<const std::vector<int64_t>> samples, std::vector<Stretch> stretches,
              size_t at_a_time, std::shared_ptr<const std::atomic<bool>> stop)
      : set_(std::move(set)),
        samples_(std::move(samples)),
        stretches_(std::move(stretches)),
        stop_(std::move(stop)) {
    while (open_.size() < at_a_time && begun_ < stretches_.size())
      open_.push_back(stretches_[begun_++]);
  }

  bool next(StreamImage& image) override {
    if (*stop_) throw Interrupted();
    if (open_.empty()) return false;
    if (turn_ >= open_.size()) turn_ = 0;
    Stretch& stretch = open_[turn_];
    const int64_t sample = (*samples_)[static_cast<size_t>(stretch.begin++)];
    if (stretch.begin < stretch.end) {
      ++turn_;
    } else if (begun_ < stretches_.size()) {
      open_[turn_++] = stretches_[begun_++];
    } else {
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(turn_));
    }
    read(sample, image);
    return true;
  }

 private:
  void read(int64_t sample, StreamImage& image) const {
    image.label = set_->label(sample);
    image.name = set_->name(sample);
    image.damage.clear();
    try {
      set_->read(sample, image.bytes);
    } catch (const DamagedImage& damage) {
      image.damage = damage.what();
    }
  }

  std::shared_ptr<const Dataset> set_;
  std::shared_ptr<const std::vector<int64_t>> samples_;
  std::vector<Stretch> stretches_, open_;
  size_t begun_ = 0, turn_ = 0;
  std::shared_ptr<const std::atomic<bool>> stop_;
};

class WholeFiles : public Stream {
 public:
  WholeFiles(std::shared_ptr<const Dataset> set, const WholeFilesShare& share)
      : set_(std::move(set)), share_(share) {
    std::vector<int64_t> samples(static_cast<size_t>(set_->size()));
    std::iota(samples.begin(), samples.end(), 0);
    std::sort(samples.begin(), samples.end(), [this](int64_t a, int64_t b) {
      const FilePlace x = *set_->file_place(a), y = *set_->file_place(b);
      return std::pair(x.file, x.offset) < std::pair(y.file, y.offset);
    });
    for (size_t i = 0; i < samples.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      if (i == 0 || set_->file_place(samples[i])->file != set_->file_place(samples[i - 1])->file)
        files_.push_back({at, at});
      files_.back().end = at + 1;
    }
    samples_ = std::make_shared<const std::vector<int64_t>>(std::move(samples));
  }

  Access access() const override { return Access::sequential; }
  int64_t size() const override { return set_->size(); }
  const std::vector<std::string>& classes() const override { return set_->classes(); }

  std::shared_ptr<StreamEpoch> begin_epoch(const EpochRequest& request) const override {
    const auto stop = std::make_shared<std::atomic<bool>>(false);
    auto stream = std::make_shared<std::unique_ptr<RecordStream>>(std::make_unique<ShuffledStream>(
        std::make_unique<TurnsStream>(set_, samples_, own_stretches(request),
                                      request.shuffled ? kFilesAtATime : 1, stop),
        request.shuffled ? share_.shuffle_buffer : 0, request.seed, request.epoch));
    set_->start_over();
    return std::make_shared<StreamEpoch>([stream] { return std::move(*stream); },
                                         [stop] { *stop = true; }, request,
                                         StreamEpoch::kReadAhead);
  }

 private:
  // Returns the parts of files that this process reads, in the order of this epoch.
  std::vector<Stretch> own_stretches(const EpochRequest& request) const {
    const int64_t begin = size() * share_.index / share_.count;
    const int64_t end = size() * (share_.index + 1) / share_.count;
    const EpochOrder order(static_cast<int64_t>(files_.size()), request.seed, request.epoch);
    std::vector<Stretch> own;
    int64_t place = 0;  // position of the file's first image in the sequence of this epoch
    for (int64_t i = 0; i < order.size(); ++i) {
      const Stretch& file = files_[static_cast<size_t>(request.shuffled ? order(i) : i)];
      const int64_t from = std::max(begin - place, int64_t{0});
      const int64_t to = std::min(end - place, file.end - file.begin);
      if (from < to) own.push_back({file.begin + from, file.begin + to});
      place += file.end - file.begin;
    }
    return own;
  }

  std::shared_ptr<const Dataset> set_;
  WholeFilesShare share_;
  std::shared_ptr<const std::vector<int64_t>> samples_;  // sorted by file and offset
  std::vector<Stretch> files_;                           // the range of each file in samples_
};

}  // namespace

std::shared_ptr<const Stream> read_whole_files(std::shared_ptr<const Dataset> set,
                                               const WholeFilesShare& share) {
  if (set->size() == 0 || !set->file_place(0)) return nullptr;
  return std::make_shared<WholeFiles>(std::move(set), share);
}

}  // namespace shoal::data
