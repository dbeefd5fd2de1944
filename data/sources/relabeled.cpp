#include "data/sources/relabeled.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "data/labels/image_key.h"

namespace shoal::data {
namespace {

class Relabeled : public ForwardingDataset {
 public:
  Relabeled(std::shared_ptr<const Dataset> source, std::vector<std::string> classes,
            std::vector<int32_t> labels)
      : ForwardingDataset(std::move(source)),
        classes_(std::move(classes)),
        labels_(std::move(labels)) {}

  const std::vector<std::string>& classes() const override { return classes_; }
  int32_t label(int64_t sample) const override {
    return labels_[static_cast<size_t>(inner().label(sample))];
  }

 private:
  std::vector<std::string> classes_;
  std::vector<int32_t> labels_;  // the new label for each label of the inner dataset
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
  std::unordered_map<std::string_view, int32_t> label_of;
  for (size_t i = 0; i < classes.size(); ++i) label_of.emplace(classes[i], static_cast<int32_t>(i));
  const bool numbers = are_numbers(own) && are_numbers(classes) && own.size() <= classes.size();
  std::vector<int32_t> labels;
  std::vector<std::string> unknown;
  for (size_t i = 0; i < own.size(); ++i) {
    const auto found = label_of.find(own[i]);
    if (numbers) {
      labels.push_back(static_cast<int32_t>(i));
    } else if (found != label_of.end()) {
      labels.push_back(found->second);
    } else {
      unknown.push_back(own[i]);
    }
  }
  if (!unknown.empty())
    throw std::invalid_argument("not among the " + std::to_string(classes.size()) + " classes of " +
                                whose + ": " + quoted_names(unknown));
  return relabeled(std::move(source), std::move(classes), std::move(labels));
}

std::vector<int32_t> numeric_labels(const std::vector<std::string>& names, int64_t limit) {
  std::vector<int32_t> labels;
  std::set<int64_t> different;
  for (const std::string& name : names) {
    const auto number = parse_whole_number(name);
    if (!number || *number >= limit || !different.insert(*number).second) return {};
    labels.push_back(static_cast<int32_t>(*number));
  }
  return labels;
}

std::shared_ptr<const Dataset> relabeled(std::shared_ptr<const Dataset> source,
                                         std::vector<std::string> classes,
                                         std::vector<int32_t> labels) {
  return std::make_shared<Relabeled>(std::move(source), std::move(classes), std::move(labels));
}

}  // namespace shoal::data
