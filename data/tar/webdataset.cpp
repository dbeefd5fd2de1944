#include "data/tar/webdataset.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/text.h"
#include "data/container/image_files.h"
#include "data/container/label_text.h"

namespace shoal::data {
namespace {

// In order of preference: the first one that a sample has is its label.
constexpr std::string_view kLabelExtensions[] = {"cls", "json", "txt"};

// Returns the offset of the extension's dot, or the size of the name if it has no extension.
size_t key_length(std::string_view name) {
  const size_t slash = name.rfind('/');
  const size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  return std::min(name.find('.', base), name.size());
}

std::string_view key_of(const TarMember& member) {
  return sample_key(member.name);
}

class ShardScan {
 public:
  ShardScan(const std::string& path, const std::vector<TarMember>& members)
      : path_(path), members_(members) {}

  Scan run() {
    for (size_t begin = 0; begin < members_.size();) {
      size_t end = begin + 1;
      while (end < members_.size() && key_of(members_[end]) == key_of(members_[begin])) ++end;
      sample(begin, end);
      begin = end;
    }
    return std::move(scan_);
  }

 private:
  [[noreturn]] void refuse(const TarMember& member, const std::string& what) const {
    throw std::invalid_argument(path_ + ":" + member.name + " " + what);
  }

  void sample(size_t begin, size_t end) {
    const TarMember *image = nullptr, *label = nullptr;
    for (size_t i = begin; i < end; ++i) {
      if (!is_image_name(members_[i].name)) continue;
      if (image != nullptr) refuse(members_[i], "is the second image of its sample");
      image = &members_[i];
    }
    for (const std::string_view wanted : kLabelExtensions)
      for (size_t i = begin; i < end && label == nullptr; ++i)
        if (sample_extension(members_[i].name) == wanted) label = &members_[i];
    if (image == nullptr) {
      if (label != nullptr && sample_extension(label->name) == kLabelExtensions[0])
        refuse(*label, "is a label without an image beside it");
      for (size_t i = begin; i < end; ++i)
        scan_.left_out.add(members_[i].name);  // such as a README.txt
      return;
    }
    ScanEntry entry;
    entry.offset = image->offset;
    entry.bytes = image->bytes;
    if (label != nullptr) read_label(*label, entry);
    scan_.add(entry, image->name);
  }

  void read_label(const TarMember& member, ScanEntry& entry) {
    if (member.bytes > kMaxSampleLabel) refuse(member, "is too large for a label");
    if (member.content.size() < member.bytes) refuse(member, "is cut short");
    const auto label = parse_sample_label(member.name, member.content);
    if (!label)
      refuse(member, "has no label: it must be a number, 0 or more, or the name of a class");
    set_label(*label, scan_, entry);
  }

  const std::string& path_;
  const std::vector<TarMember>& members_;
  Scan scan_;
};

}  // namespace

std::string_view sample_key(std::string_view name) {
  return name.substr(0, key_length(name));
}

std::string sample_extension(std::string_view name) {
  return lower(std::string(name.substr(std::min(key_length(name) + 1, name.size()))));
}

bool is_image_name(std::string_view name) {
  return is_sample_extension(sample_extension(name));
}

int label_place(std::string_view name) {
  const std::string found = sample_extension(name);
  const auto place = std::find(std::begin(kLabelExtensions), std::end(kLabelExtensions), found);
  return static_cast<int>(place - std::begin(kLabelExtensions));
}

bool is_label_name(std::string_view name) {
  return label_place(name) < static_cast<int>(std::size(kLabelExtensions));
}

std::optional<LabelText> parse_sample_label(std::string_view name, const std::string& text) {
  return sample_extension(name) == "json" ? parse_json_label(text) : parse_label(text);
}

bool is_webdataset(const std::vector<TarMember>& members) {
  for (size_t i = 1; i < members.size(); ++i) {
    const TarMember &a = members[i - 1], &b = members[i];
    if (key_of(a) == key_of(b) && ((is_image_name(a.name) && is_label_name(b.name)) ||
                                   (is_label_name(a.name) && is_image_name(b.name))))
      return true;
  }
  return false;
}

Scan scan_webdataset(const std::string& path, const std::vector<TarMember>& members) {
  return ShardScan(path, members).run();
}

}  // namespace shoal::data
