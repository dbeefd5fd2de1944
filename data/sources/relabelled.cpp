#include "data/sources/relabelled.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace shoal::data {
namespace {

// True for 0, 1, 2 …, with or without zeros before.
bool are_numbers(const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    size_t value = 0;
    const char* const end = names[i].data() + names[i].size();
    const auto result = std::from_chars(names[i].data(), end, value);
    if (result.ec != std::errc() || result.ptr != end || value != i) return false;
  }
  return true;
}

class Relabelled : public Dataset {
 public:
  Relabelled(std::shared_ptr<const Dataset> source, std::vector<std::string> classes,
             std::vector<int32_t> places)
      : source_(std::move(source)), classes_(std::move(classes)), places_(std::move(places)) {}

  int64_t size() const override { return source_->size(); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int32_t label(int64_t sample) const override {
    return places_[static_cast<size_t>(source_->label(sample))];
  }
  std::string name(int64_t sample) const override { return source_->name(sample); }
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override {
    source_->read(sample, bytes);
  }
  void will_read(int64_t first, int64_t count) const override { source_->will_read(first, count); }
  bool seek_index(int64_t sample, jpeg::SeekIndex& index) const override {
    return source_->seek_index(sample, index);
  }
  bool keeps_indexes() const override { return source_->keeps_indexes(); }
  int64_t encoded_bytes(int64_t sample) const override { return source_->encoded_bytes(sample); }
  std::optional<FilePlace> file_place(int64_t sample) const override {
    return source_->file_place(sample);
  }
  void start_over() const override { source_->start_over(); }

 private:
  std::shared_ptr<const Dataset> source_;
  std::vector<std::string> classes_;
  std::vector<int32_t> places_;  // of the source's classes in classes_
};

}  // namespace

std::vector<std::string> united_classes(const std::vector<std::vector<std::string>>& lists) {
  if (std::all_of(lists.begin(), lists.end(), are_numbers))
    return *std::max_element(lists.begin(), lists.end(),
                             [](const auto& a, const auto& b) { return a.size() < b.size(); });
  std::set<std::string> all;
  for (const auto& list : lists) all.insert(list.begin(), list.end());
  return {all.begin(), all.end()};
}

std::shared_ptr<const Dataset> with_classes(std::shared_ptr<const Dataset> source,
                                            std::vector<std::string> classes,
                                            const std::string& whose) {
  const std::vector<std::string>& own = source->classes();
  if (own == classes) return source;
  std::unordered_map<std::string_view, int32_t> place_of;
  for (size_t i = 0; i < classes.size(); ++i) place_of.emplace(classes[i], static_cast<int32_t>(i));
  const bool numbers = are_numbers(own) && are_numbers(classes) && own.size() <= classes.size();
  std::vector<int32_t> places;
  std::vector<std::string> unknown;
  for (size_t i = 0; i < own.size(); ++i) {
    const auto found = place_of.find(own[i]);
    if (numbers) {
      places.push_back(static_cast<int32_t>(i));
    } else if (found != place_of.end()) {
      places.push_back(found->second);
    } else {
      unknown.push_back(own[i]);
    }
  }
  if (!unknown.empty())
    throw std::invalid_argument("not among the " + std::to_string(classes.size()) + " classes of " +
                                whose + ": " + quoted_names(unknown));
  return std::make_shared<Relabelled>(std::move(source), std::move(classes), std::move(places));
}

}  // namespace shoal::data
