#include "data/tar/tar_stream.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/log.h"
#include "data/container/image_files.h"
#include "data/limits.h"
#include "data/tar/sample.h"
#include "data/tar/tar_walker.h"

namespace shoal::data {
namespace {

// A sample has one image that is_image_name() accepts, but may contain images in other formats,
// too. This is the maximum number of images to buffer until that image and the label are read.
constexpr size_t kMaxHeld = 16;

// A sample is complete when a file with another key follows (sample.h). Images with the same key
// but no label are not a sample but files of a class folder, such as photo.1.jpg and photo.2.jpg.
class TarStream : public RecordStream {
 public:
  // `folder`: prefix for the names of members when their classes are looked up. For a tar inside a
  // tar, the name of the inner tar and a slash; otherwise empty.
  TarStream(ByteSource& source, const StreamLabels& labels, std::string folder)
      : source_(source),
        labels_(labels),
        folder_(std::move(folder)),
        walker_(source),
        sample_(source.name()) {}

  bool next(StreamImage& image) override {
    for (;;) {
      if (!ready_.empty()) {
        image = std::move(ready_.front());
        ready_.pop_front();
        return true;
      }
      if (inner_ && inner_->stream->next(image)) return true;
      inner_.reset();
      if (std::exchange(unread_, false)) {
        read_member();
      } else if (advance()) {
        if (!sample_.includes(entry_.name)) begin_sample(entry_.name);
        unread_ = true;  // first return images that are ready, then read this member
      } else {
        begin_sample("");
        if (ready_.empty()) return false;
      }
    }
  }

 private:
  // A tar inside this one.
  struct Inner {
    LimitedSource source;
    std::unique_ptr<RecordStream> stream;
  };

  [[noreturn]] void refuse(const std::string& name, const std::string& what) const {
    throw std::invalid_argument(source_.name() + ":" + name + " " + what);
  }

  // Moves to the next member. Returns false after the last tar.
  bool advance() {
    while (!over_) {
      const bool found = walker_.next(entry_);
      if (!found) {
        over_ = !walker_.next_archive();
        sample_.end();  // the next tar begins a new sample
      }
      if (found && is_hidden(entry_.name)) continue;
      if (found && entry_.is_link)
        refuse(entry_.name, "is a hard link, which cannot be followed in a stream");
      if (found) return true;
    }
    return false;
  }

  void read_member() {
    const std::string& name = entry_.name;
    if (is_tar_name(name)) {
      if (!folder_.empty()) refuse(name, "is a tar inside a tar inside a tar");
      inner_.reset(
          new Inner{LimitedSource(source_, entry_.bytes, source_.name() + ":" + name), nullptr});
      inner_->stream = std::make_unique<TarStream>(inner_->source, labels_, folder_ + name + "/");
      return;
    }
    if (is_label_name(name)) {
      sample_.add_label(name, entry_.bytes, [&] {
        std::string text(static_cast<size_t>(entry_.bytes), '\0');
        text.resize(source_.read(text.data(), text.size()));
        return text;
      });
      return;
    }
    std::vector<uint8_t> bytes;
    const uint64_t head = std::min<uint64_t>(entry_.bytes, kImageHead);
    if (!append_bytes(source_, head, bytes)) refuse(name, "is cut short");
    if (!is_image(name, bytes)) {
      if (held_.empty() && sample_.label_name().empty()) leave_out(name);
      return;
    }
    if (entry_.bytes > static_cast<uint64_t>(kMaxFileBytes))
      refuse(name, "is too large for an image");
    if (!append_bytes(source_, entry_.bytes - head, bytes)) refuse(name, "is cut short");
    hold({std::move(bytes), 0, name, ""});
  }

  void hold(StreamImage image) {
    held_.push_back(std::move(image));
    if (is_sample())  // images in other formats are extra data, not the image of the sample
      std::erase_if(held_, [](const StreamImage& one) { return !is_image_name(one.name); });
    if (held_.size() <= kMaxHeld) return;
    if (is_sample()) end_sample();  // throws, because the sample has several images
    release_by_name(held_.front());
    held_.pop_front();
    released_ = true;
  }

  // Warns only once per process, because every epoch leaves out the same files.
  void leave_out(const std::string& name) const {
    static std::atomic<bool> warned = false;
    if (!warned.exchange(true))
      log::warning(source_.name() + ": files that are not images are left out, such as " + name);
  }

  // Ends the previous sample and begins the one that includes the file `name`.
  void begin_sample(std::string_view name) {
    end_sample();
    held_.clear();
    released_ = false;
    sample_.begin(name);
  }

  // Whether the files read so far include a label and an image that is_image_name() accepts.
  bool is_sample() const {
    return !sample_.label_name().empty() &&
           std::ranges::any_of(held_, is_image_name, &StreamImage::name);
  }

  void end_sample() {
    if (!is_sample()) {
      sample_.check_label_without_image();
      if (held_.empty() && !released_ && !sample_.label_name().empty())
        leave_out(sample_.label_name());  // such as a README.txt
      for (StreamImage& image : held_) release_by_name(image);
      return;
    }
    if (released_)
      refuse(sample_.label_name(),
             "belongs to a sample with more than " + std::to_string(kMaxHeld) +
                 " images before its label or main image; put these two first in the sample");
    StreamImage* main = nullptr;
    for (StreamImage& image : held_) {
      if (!is_image_name(image.name)) continue;
      sample_.add_image(image.name);
      main = &image;
    }
    const std::optional<LabelText> label = sample_.label();
    release(*main, [&] { return labels_.label_of(*label); });
  }

  void release_by_name(StreamImage& image) {
    release(image, [&] { return labels_.label_of_name(folder_ + image.name); });
  }

  template <class Label>
  void release(StreamImage& image, const Label& label) {
    try {
      image.label = label();
    } catch (const std::invalid_argument& error) {
      refuse(image.name, error.what());
    }
    image.name = source_.name() + ":" + image.name;
    ready_.push_back(std::move(image));
  }

  ByteSource& source_;
  const StreamLabels& labels_;
  const std::string folder_;
  TarWalker walker_;
  TarEntry entry_;
  bool unread_ = false;  // read_member() has not read entry_ yet
  bool over_ = false;
  std::unique_ptr<Inner> inner_;
  // The current sample, as far as it has been read.
  Sample sample_;
  std::deque<StreamImage> held_;   // images of the sample, under their names in the tar
  bool released_ = false;          // whether an image of the current sample was moved to ready_
  std::deque<StreamImage> ready_;  // images that next() returns
};

}  // namespace

std::unique_ptr<RecordStream> open_tar_stream(ByteSource& source, const StreamLabels& labels) {
  return std::make_unique<TarStream>(source, labels, "");
}

}  // namespace shoal::data
