#include "data/container/catalogue.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <stdexcept>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "data/errors.h"
#include "data/limits.h"
#include "data/split.h"

namespace shoal::data {
namespace {

constexpr int64_t kMaxClasses = 1'000'000;
constexpr size_t kReadForward = 24;  // limit on open files with Reads::forward: each needs 8 MiB

// Calls visit(index of file, index of entry, entry) for every entry of the scans.
template <class Visit>
void for_each_entry(const std::vector<Scan>& scans, const Visit& visit) {
  for (uint32_t file = 0; file < scans.size(); ++file)
    for (uint32_t i = 0; i < scans[file].size(); ++i) visit(file, i, scans[file].entries[i]);
}

class Labeler {
 public:
  Labeler(const std::vector<SourceFile>& files, const std::vector<Scan>& scans,
          const std::vector<std::string>& known)
      : files_(files), scans_(scans), known_(known) {
    for (size_t i = 0; i < known.size(); ++i) places_[known[i]] = static_cast<int32_t>(i);
  }

  Catalogue run() {
    survey();
    const bool by_text = labeled_by_name(scans_, known_);
    if (!by_text && !all_numbers_)
      refuse(mixed_file_, mixed_entry_,
             "has no label of the same kind (name or number) as the other images");
    return by_text ? labeled_by_text() : labeled_by_number();
  }

 private:
  [[noreturn]] void refuse(uint32_t file, uint32_t entry, const std::string& what) const {
    throw std::invalid_argument(files_[file].path + ":" + std::string(scans_[file].name(entry)) +
                                " " + what);
  }

  void survey() {
    for_each_entry(scans_, [&](uint32_t file, uint32_t i, const ScanEntry& entry) {
      const bool text = entry.text >= 0, number = entry.number != kNoNumber;
      if (!text && !number) refuse(file, i, "has no label");
      if ((all_texts_ && !text) || (all_numbers_ && !number)) mixed_file_ = file, mixed_entry_ = i;
      all_texts_ = all_texts_ && text;
      all_numbers_ = all_numbers_ && number;
      largest_ = std::max(largest_, entry.number);
    });
  }

  const std::string& text_of(uint32_t file, const ScanEntry& entry) const {
    return scans_[file].texts[static_cast<size_t>(entry.text)];
  }

  Catalogue labeled_by_text() {
    std::vector<std::string> classes = known_;
    if (known_.empty()) {
      for (const Scan& scan : scans_)
        for (const std::string& text : scan.texts) places_[text] = 0;
      for (auto& [text, place] : places_) {
        place = static_cast<int32_t>(classes.size());
        classes.push_back(text);
      }
    }
    std::vector<Placed> placed;
    for_each_entry(scans_, [&](uint32_t file, uint32_t i, const ScanEntry& entry) {
      const auto found = places_.find(text_of(file, entry));
      if (found == places_.end())
        refuse(
            file, i,
            "has the class '" + text_of(file, entry) + "', which the training set does not have");
      placed.push_back({file, i, found->second});
    });
    return make_catalogue(scans_, placed, std::move(classes));
  }

  Catalogue labeled_by_number() {
    const auto count = known_.empty() ? largest_ + 1 : static_cast<int64_t>(known_.size());
    std::vector<Placed> placed;
    for_each_entry(scans_, [&](uint32_t file, uint32_t i, const ScanEntry& entry) {
      if (entry.number < 0 || entry.number >= std::min(count, kMaxClasses))
        refuse(file, i,
               "has the label " + std::to_string(entry.number) + "; labels must be between 0 and " +
                   std::to_string(std::min(count, kMaxClasses) - 1));
      placed.push_back({file, i, static_cast<int32_t>(entry.number)});
    });
    return make_catalogue(scans_, placed, known_.empty() ? numbered_classes(count) : known_);
  }

  const std::vector<SourceFile>& files_;
  const std::vector<Scan>& scans_;
  const std::vector<std::string>& known_;
  std::map<std::string, int32_t, std::less<>> places_;
  bool all_texts_ = true, all_numbers_ = true;
  int64_t largest_ = 0;
  uint32_t mixed_file_ = 0, mixed_entry_ = 0;
};

}  // namespace

std::vector<std::string> numbered_classes(int64_t count) {
  std::vector<std::string> names;
  const size_t digits = std::to_string(count - 1).size();
  for (int64_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    names.push_back(std::string(digits - number.size(), '0') + number);
  }
  return names;
}

std::string_view Catalogue::name(int64_t sample) const {
  const auto i = static_cast<size_t>(sample);
  const uint64_t begin = i == 0 ? 0 : name_ends[i - 1];
  return std::string_view(names).substr(begin, name_ends[i] - begin);
}

Catalogue make_catalogue(const std::vector<Scan>& scans, const std::vector<Placed>& placed,
                         std::vector<std::string> classes) {
  Catalogue catalogue;
  catalogue.classes = std::move(classes);
  catalogue.images.reserve(placed.size());
  catalogue.name_ends.reserve(placed.size());
  for (const Placed& p : placed) {
    const ScanEntry& entry = scans[p.file].entries[p.entry];
    catalogue.images.push_back(
        {entry.offset, entry.bytes, p.file, p.label, entry.before, entry.behind});
    catalogue.names += scans[p.file].name(p.entry);
    catalogue.name_ends.push_back(catalogue.names.size());
  }
  return catalogue;
}

bool labeled_by_name(const std::vector<Scan>& scans, const std::vector<std::string>& known) {
  const std::unordered_set<std::string_view> names(known.begin(), known.end());
  bool any_known = known.empty(), all_numbers = true;
  for (const Scan& scan : scans) {
    for (const ScanEntry& entry : scan.entries) {
      if (entry.text < 0) return false;
      all_numbers = all_numbers && entry.number != kNoNumber;
    }
    for (const std::string& text : scan.texts) any_known = any_known || names.contains(text);
  }
  return any_known || !all_numbers;
}

Catalogue catalogue_by_label(const std::vector<SourceFile>& files, const std::vector<Scan>& scans,
                             const std::vector<std::string>& known) {
  return Labeler(files, scans, known).run();
}

Catalogue catalogue_unlabeled(const std::vector<Scan>& scans) {
  std::vector<Placed> placed;
  for_each_entry(scans, [&](uint32_t file, uint32_t i, const ScanEntry&) {
    placed.push_back({file, i, 0});
  });
  return make_catalogue(scans, placed, {""});
}

ContainerDataset::ContainerDataset(std::vector<SourceFile> files, Catalogue catalogue, Reads reads)
    : files_(std::move(files), reads == Reads::forward ? kReadForward : open_files_limit(), reads),
      catalogue_(std::move(catalogue)) {}

std::string ContainerDataset::name(int64_t sample) const {
  std::string name = files_.at(image(sample).file).path;
  name += ':';
  name += catalogue_.name(sample);
  return name;
}

std::string ContainerDataset::key(int64_t sample) const {
  const std::string& path = files_.at(image(sample).file).path;
  std::string name = path.substr(path.rfind('/') + 1);  // the whole path if it has no '/'
  name += ':';
  name += catalogue_.name(sample);
  return split_key(classes()[static_cast<size_t>(label(sample))], name);
}

void ContainerDataset::check_size(const Image& image) {
  if (image.bytes > static_cast<uint64_t>(kMaxFileBytes))
    throw DamagedImage(std::to_string(image.bytes) + " bytes are too many for an image");
}

void ContainerDataset::read(int64_t sample, std::vector<uint8_t>& bytes) const {
  const Image& p = image(sample);
  check_size(p);
  bytes.resize(p.bytes);
  read_fully(*open_file(p.file), p.offset, bytes.data(), static_cast<int64_t>(p.bytes));
}

void ContainerDataset::will_read(int64_t first, int64_t count) const {
  try {
    for (int64_t i = first; i < first + count; ++i) {
      const Image& p = image(i);
      const uint64_t before = std::min<uint64_t>(p.before, p.offset);
      open_file(p.file)->will_read(p.offset - before, before + p.bytes + p.behind);
    }
  } catch (const std::runtime_error&) {  // read() will report it
  }
}

}  // namespace shoal::data
