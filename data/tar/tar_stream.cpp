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
#include "data/tar/sample.h"
#include "data/tar/tar_walker.h"

namespace shoal::data {
namespace {

// A sample is complete when a file with another key follows (sample.h).
class TarStream : public RecordStream {
 public:
  // `folder`: prefix for the names of members when looking for their classes; used for tars inside
  // a tar.
  TarStream(ByteSource& source, const StreamLabels& labels, std::string folder)
      : source_(source),
        labels_(labels),
        folder_(std::move(folder)),
        walker_(source),
        sample_(source.name()) {}

  bool next(StreamImage& image) override {
    for (;;) {
      if (inner_ && inner_->stream->next(image)) return true;
      inner_.reset();
      if (!std::exchange(unread_, false) && !advance()) return finish_sample(image, "");
      if (!sample_.includes(entry_.name)) {
        unread_ = finish_sample(image, entry_.name);
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
    if (name.ends_with(".tar")) {
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
    if (!is_image_name(name) && sample_.has_image()) return;  // another file of the sample
    if (entry_.bytes > static_cast<uint64_t>(kMaxFileBytes))
      refuse(name, "is too large for an image");
    std::vector<uint8_t> bytes;
    if (!append_bytes(source_, entry_.bytes, bytes)) refuse(name, "is cut short");
    const size_t head = std::min(bytes.size(), kImageHead);
    if (!is_image(name, std::span(bytes).first(head))) return leave_out(name);
    if (sample_.add_image(name)) bytes_ = std::move(bytes);
  }

  // Warns only once per process, because every epoch leaves out the same files.
  void leave_out(const std::string& name) const {
    static std::atomic<bool> warned = false;
    if (!warned.exchange(true))
      log::warning(source_.name() + ": files that are not images are left out, such as " + name);
  }

  // Begins the sample that includes the file `next`. Returns whether the previous one has an image.
  bool finish_sample(StreamImage& image, std::string_view next) {
    const bool found = take_sample(image);
    sample_.begin(next);
    return found;
  }

  bool take_sample(StreamImage& image) {
    if (!sample_.has_image()) {
      sample_.check_label_without_image();
      if (!sample_.label_name().empty()) leave_out(sample_.label_name());  // such as a README.txt
      return false;
    }
    const std::string& name = sample_.image();
    const std::optional<LabelText> label = sample_.label();
    try {
      image.label = label ? labels_.label_of(*label) : labels_.label_of_name(folder_ + name);
    } catch (const std::invalid_argument& error) {
      refuse(name, error.what());
    }
    image.bytes = std::move(bytes_);
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
  Sample sample_;               // as far as it has been read
  std::vector<uint8_t> bytes_;  // of its image
};

}  // namespace

std::unique_ptr<RecordStream> open_tar_stream(ByteSource& source, const StreamLabels& labels) {
  return std::make_unique<TarStream>(source, labels, "");
}

}  // namespace shoal::data
