#include "data/tar/tar_stream.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/log.h"
#include "data/container/image_files.h"
#include "data/limits.h"
#include "data/tar/tar_walker.h"
#include "data/tar/webdataset.h"

namespace shoal::data {
namespace {

// Members with the same key are consecutive; a sample is complete when a member with another key
// follows.
class TarStream : public RecordStream {
 public:
  // `folder`: prefix for the names of members when looking for their classes; used for tars inside
  // a tar.
  TarStream(ByteSource& source, const StreamLabels& labels, std::string folder)
      : source_(source), labels_(labels), folder_(std::move(folder)), walker_(source) {}

  bool next(StreamImage& image) override {
    for (;;) {
      if (inner_ && inner_->stream->next(image)) return true;
      inner_.reset();
      if (!std::exchange(unread_, false) && !advance()) return finish_sample(image);
      if (sample_key(entry_.name) != key_) {
        key_ = sample_key(entry_.name);
        unread_ = finish_sample(image);
        if (unread_) return true;
      }
      read_member();
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
        key_.clear();  // the next tar begins a new sample
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
    if (name.ends_with(".tar")) {
      if (!folder_.empty()) refuse(name, "is a tar inside a tar inside a tar");
      inner_.reset(
          new Inner{LimitedSource(source_, entry_.bytes, source_.name() + ":" + name), nullptr});
      inner_->stream = std::make_unique<TarStream>(inner_->source, labels_, folder_ + name + "/");
      return;
    }
    if (is_label_name(name)) return read_label();
    if (!is_image_name(name) && has_image_) return;  // another file of the sample
    if (entry_.bytes > static_cast<uint64_t>(kMaxFileBytes))
      refuse(name, "is too large for an image");
    std::vector<uint8_t> bytes;
    if (!append_bytes(source_, entry_.bytes, bytes)) refuse(name, "is cut short");
    const size_t head = std::min(bytes.size(), kImageHead);
    if (!is_image(name, std::span(bytes).first(head))) return leave_out(name);
    if (has_image_) refuse(name, "is the second image of its sample");
    has_image_ = true;
    image_.bytes = std::move(bytes);
    image_.name = name;
  }

  // Warns only once per process, because every epoch leaves out the same files.
  void leave_out(const std::string& name) const {
    static std::atomic<bool> warned = false;
    if (!warned.exchange(true))
      log::warning(source_.name() + ": files that are not images are left out, such as " + name);
  }

  void read_label() {
    if (entry_.bytes > kMaxSampleLabel) refuse(entry_.name, "is too large for a label");
    std::string text(static_cast<size_t>(entry_.bytes), '\0');
    if (source_.read(text.data(), text.size()) < text.size()) refuse(entry_.name, "is cut short");
    const int place = label_place(entry_.name);
    if (label_ && place > label_place_) return;
    label_ = std::move(text);
    label_place_ = place;
    label_name_ = entry_.name;
  }

  bool finish_sample(StreamImage& image) {
    const auto text = std::exchange(label_, std::nullopt);
    if (!std::exchange(has_image_, false)) {
      if (text && label_place_ == 0) refuse(label_name_, "is a label without an image beside it");
      if (text) leave_out(label_name_);  // such as a README.txt
      return false;
    }
    const std::string name = std::move(image_.name);
    std::optional<LabelText> label;
    if (text) label = parse_sample_label(label_name_, *text);
    if (text && !label)
      refuse(label_name_, "has no label: it must be a number, 0 or more, or the name of a class");
    try {
      image.label = label ? labels_.label_of(*label) : labels_.label_of_name(folder_ + name);
    } catch (const std::invalid_argument& error) {
      refuse(name, error.what());
    }
    image.bytes = std::move(image_.bytes);
    image.name = source_.name() + ":" + name;
    image.damage.clear();
    return true;
  }

  ByteSource& source_;
  const StreamLabels& labels_;
  const std::string folder_;
  TarWalker walker_;
  TarEntry entry_;
  bool unread_ = false;  // next() has returned the sample before entry_, but not yet read entry_
  bool over_ = false;
  std::unique_ptr<Inner> inner_;
  // The current sample, as far as it has been read.
  std::string key_;
  bool has_image_ = false;
  StreamImage image_;                 // bytes and the member's name
  std::optional<std::string> label_;  // content of the label file
  int label_place_ = 0;
  std::string label_name_;
};

}  // namespace

std::unique_ptr<RecordStream> open_tar_stream(ByteSource& source, const StreamLabels& labels,
                                              const ExampleKeys&) {
  return std::make_unique<TarStream>(source, labels, "");
}

}  // namespace shoal::data
