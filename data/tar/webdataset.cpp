#include "data/tar/webdataset.h"

#include <string_view>
#include <utility>

#include "data/container/label_text.h"
#include "data/tar/sample.h"

namespace shoal::data {
namespace {

class ShardScan {
 public:
  explicit ShardScan(const std::string& path) : sample_(path) {}

  Scan run(const std::vector<TarMember>& members) {
    for (const TarMember& member : members) {
      if (!sample_.includes(member.name)) {
        finish_sample();
        sample_.begin(member.name);
      }
      add(member);
    }
    finish_sample();
    return std::move(scan_);
  }

 private:
  void add(const TarMember& member) {
    files_.push_back(&member);
    if (is_label_name(member.name))
      sample_.add_label(member.name, member.bytes, [&] { return member.content; });
    if (!is_image_name(member.name)) return;
    sample_.add_image(member.name);
    image_ = &member;
  }

  void finish_sample() {
    const auto files = std::exchange(files_, {});
    if (!sample_.has_image()) {
      sample_.check_label_without_image();
      for (const TarMember* file : files) {
        sample_.check_left_out(file->name);
        scan_.left_out.add(file->name);  // such as a README.txt
      }
      return;
    }
    ScanEntry entry;
    entry.offset = image_->offset;
    entry.bytes = image_->bytes;
    if (const auto label = sample_.label()) set_label(*label, scan_, entry);
    scan_.add(entry, image_->name);
  }

  Sample sample_;
  const TarMember* image_ = nullptr;
  std::vector<const TarMember*> files_;  // all files of the current sample
  Scan scan_;
};

}  // namespace

bool is_webdataset(const std::vector<TarMember>& members) {
  std::string_view key;
  bool image = false, label = false;  // found so far among members with this key
  for (const TarMember& member : members) {
    if (sample_key(member.name) != key) {
      key = sample_key(member.name);
      image = label = false;
    }
    image = image || is_image_name(member.name);
    label = label || is_label_name(member.name);
    if (image && label) return true;
  }
  return false;
}

Scan scan_webdataset(const std::string& path, const std::vector<TarMember>& members) {
  return ShardScan(path).run(members);
}

}  // namespace shoal::data
