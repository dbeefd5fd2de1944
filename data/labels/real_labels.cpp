#include "data/labels/real_labels.h"

#include <stdexcept>
#include <string_view>

#include "base/file/whole_file.h"
#include "base/json.h"
#include "base/text.h"
#include "data/labels/image_key.h"

namespace shoal::data {
namespace {

using Json = nlohmann::json;
using LabelOf = std::unordered_map<std::string_view, int32_t>;

std::vector<int32_t> labels_in(const Json& entry, const LabelOf& label_of, int64_t outputs,
                               const std::string& where) {
  if (!entry.is_array()) throw std::invalid_argument(where + " is not a list of labels");
  std::vector<int32_t> labels;
  for (const Json& each : entry) {
    const bool is_number = each.is_number_unsigned();
    if (is_number && each.get<uint64_t>() < static_cast<uint64_t>(outputs)) {
      labels.push_back(each.get<int32_t>());
      continue;
    }
    const auto found =
        each.is_string() ? label_of.find(each.get_ref<const std::string&>()) : label_of.end();
    if (found == label_of.end())
      throw std::invalid_argument(where + " has the label " + json_text(each) +
                                  ", which is not a class of the model (" +
                                  std::to_string(outputs) + " classes)");
    labels.push_back(found->second);
  }
  return labels;
}

}  // namespace

RealLabels::RealLabels(const std::string& path, const std::vector<std::string>& classes,
                       int64_t outputs)
    : path_(path) {
  LabelOf label_of;
  for (size_t i = 0; i < classes.size(); ++i) label_of.emplace(classes[i], static_cast<int32_t>(i));
  const std::vector<char> bytes = read_whole_file(path);
  const Json json = parse_json({bytes.data(), bytes.size()});
  numbered_ = json.is_array();
  if (!numbered_ && !json.is_object())
    throw std::invalid_argument(path +
                                " is not a JSON list or object of label lists, as real.json is");
  int64_t number = 0;
  for (const auto& [key, entry] : json.items()) {
    ++number;
    const std::string name = numbered_ ? std::to_string(number) : std::string(stem_of(key));
    const std::string where = path + ": the entry of image " + (numbered_ ? name : "'" + key + "'");
    if (!labels_.emplace(name, labels_in(entry, label_of, outputs, where)).second)
      throw std::invalid_argument(where + " appears twice");
  }
}

const std::vector<int32_t>& RealLabels::of(const std::string& name) const {
  std::string key(stem_of(name));
  if (numbered_) {
    const auto number = number_at_end(name);
    key = number ? std::to_string(*number) : "";
  }
  const auto found = labels_.find(key);
  if (found == labels_.end())
    throw std::invalid_argument(path_ + " has no labels for the image " + name);
  return found->second;
}

}  // namespace shoal::data
