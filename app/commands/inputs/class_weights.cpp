#include "app/commands/inputs/class_weights.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <system_error>

#include "base/file/whole_file.h"
#include "base/format/counted.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/loader/balance.h"
#include "dist/gather.h"

namespace shoal::app {
namespace {

using Given = std::map<std::string, double>;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UserError("--class-weights " + path + ": " + why);
}

void add(Given& given, const std::string& path, const std::string& name, double weight) {
  if (!std::isfinite(weight) || weight < 0)
    refuse(path, "the weight of '" + name + "' must be a number of 0 or more");
  if (!given.emplace(name, weight).second) refuse(path, "class '" + name + "' has two weights");
}

Given from_json(const std::string& path, const nlohmann::json& json,
                const std::vector<std::string>& classes) {
  Given given;
  const auto weight_in = [&](const nlohmann::json& value, const std::string& name) {
    add(given, path, name, value.is_number() ? value.get<double>() : -1);
  };
  if (json.is_array() && json.size() != classes.size())
    refuse(path, strf("the list has %s, but there are %zu classes",
                      counted(json.size(), "weight").c_str(), classes.size()));
  if (json.is_array())
    for (size_t c = 0; c < classes.size(); ++c) weight_in(json[c], classes[c]);
  else
    for (const auto& [name, value] : json.items()) weight_in(value, name);
  return given;
}

// The name of a class may contain blanks; the weight is the last word of its line.
Given from_lines(const std::string& path, const std::string& text) {
  Given given;
  int64_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const size_t end = line.find_last_not_of(" \t\r");
    if (end == line.npos) continue;
    const size_t blank = line.find_last_of(" \t", end);
    const size_t name_end = blank == line.npos ? blank : line.find_last_not_of(" \t", blank);
    const size_t begin = blank + 1;  // npos + 1 is 0
    const auto weight = parse_number<double>(line.substr(begin, end + 1 - begin));
    if (name_end == line.npos || !weight)
      refuse(path, strf("line %ld is not `CLASS WEIGHT`", number));
    add(given, path, line.substr(0, name_end + 1), *weight);
  }
  return given;
}

// Returns, for each class, how many of its images an epoch uses on all hosts together.
std::vector<int64_t> uses_per_epoch(const train::ResolvedJob& job, const data::Dataset& train,
                                    const dist::Communicator& communicator) {
  std::vector<int64_t> counts = data::class_counts(train);
  if (job.balance > 0)
    counts = data::balanced_counts(
        counts, job.balance, std::accumulate(counts.begin(), counts.end(), int64_t{0}), job.seed);
  if (!job.train_sharded) return counts;
  at::Tensor sums = at::tensor(counts, at::kLong);
  if (communicator.env.local_rank != 0) sums.zero_();  // counts each host's images once
  communicator.main.all_reduce_sum(sums);
  const auto* const all = sums.const_data_ptr<int64_t>();
  return {all, all + counts.size()};
}

// Returns the smallest and the largest value among the classes that are used, as a text such as
// "0.5 for 'cat' to 2 for 'dog'". If all values are equal, returns "1 for every class" or, if some
// classes are not used, "1 for every class with images". `text`: converts a value to "0.5 for".
template <class Value, class Text>
std::string range_text(const std::vector<Value>& values, const std::vector<int64_t>& uses,
                       const std::vector<std::string>& classes, const Text& text) {
  std::vector<size_t> used;
  for (size_t c = 0; c < classes.size(); ++c)
    if (uses[c] > 0) used.push_back(c);
  const auto by_value = [&](size_t a, size_t b) { return values[a] < values[b]; };
  const auto [least, most] = std::ranges::minmax_element(used, by_value);
  const std::string low = text(values[*least]), high = text(values[*most]);
  if (low == high)
    return low + " every class" + (used.size() < classes.size() ? " with images" : "");
  return low + " '" + classes[*least] + "' to " + high + " '" + classes[*most] + "'";
}

// Returns the content of the file on rank 0's host; empty if it does not exist. Collective.
std::string read_on_leader(const std::string& path, const dist::Group& group) {
  std::string text;
  dist::on_rank_0(group, [&] {
    try {
      const std::vector<char> bytes = read_whole_file(path);
      text.assign(bytes.begin(), bytes.end());
    } catch (const std::system_error& error) {
      if (error.code() != std::errc::no_such_file_or_directory)
        refuse(path, "cannot read the file: " + error.code().message());
    }
  });
  dist::broadcast_text(group, text);
  return text;
}

}  // namespace

std::vector<double> parse_class_weights(const std::string& path, const std::string& text,
                                        const std::vector<std::string>& classes) {
  if (text.empty())
    refuse(path, "it must be none, balanced, or a file that exists and is not empty");
  const nlohmann::json json = parse_json(text);
  const bool is_json = json.is_array() || json.is_object();
  const Given given = is_json ? from_json(path, json, classes) : from_lines(path, text);
  std::vector<double> weights;
  std::vector<std::string> missing, unknown;
  for (const std::string& name : classes) {
    const auto found = given.find(name);
    if (found == given.end())
      missing.push_back(name);
    else
      weights.push_back(found->second);
  }
  for (const auto& [name, weight] : given)
    if (std::find(classes.begin(), classes.end(), name) == classes.end()) unknown.push_back(name);
  if (!unknown.empty()) refuse(path, "unknown classes: " + data::quoted_names(unknown));
  if (!missing.empty()) refuse(path, "classes without a weight: " + data::quoted_names(missing));
  return weights;
}

std::vector<double> class_weights(const train::ResolvedJob& job, const data::Source& train,
                                  const dist::Communicator& communicator) {
  if (job.class_weighting == "none") return {};
  const data::Dataset* const images = data::as_dataset(train);
  if (!images)
    throw UserError("--class-weights " + job.class_weighting +
                    " needs the number of images of each class, which is unknown for images that "
                    "are read sequentially; omit it");
  const std::vector<int64_t> uses = uses_per_epoch(job, *images, communicator);
  std::vector<double> weights;
  if (job.class_weighting == "balanced")
    for (const int64_t n : uses) weights.push_back(n > 0 ? 1 / static_cast<double>(n) : 0);
  else
    weights = parse_class_weights(job.class_weighting,
                                  read_on_leader(job.class_weighting, communicator.main),
                                  images->classes());
  double sum = 0, all = 0;
  for (size_t c = 0; c < weights.size(); ++c) {
    sum += weights[c] * static_cast<double>(uses[c]);
    all += static_cast<double>(uses[c]);
  }
  if (sum <= 0) refuse(job.class_weighting, "all training images have weight 0");
  if (!std::isfinite(sum)) refuse(job.class_weighting, "the weights are too large");
  for (double& weight : weights) weight *= all / sum;
  log::info("class weights in the loss: " +
            range_text(weights, uses, images->classes(),
                       [](double weight) { return strf("%.3g for", weight); }));
  // --classes may name more classes than the data has.
  weights.resize(static_cast<size_t>(job.model.classes), 0);
  return weights;
}

void log_balance(const train::ResolvedJob& job, const data::Source& train,
                 const dist::Communicator& communicator) {
  const data::Dataset* const images = data::as_dataset(train);
  if (job.balance == 0 || !images) return;
  const std::vector<int64_t> uses = uses_per_epoch(job, *images, communicator);
  log::info(strf("--balance %g: an epoch uses about ", job.balance) +
            range_text(uses, uses, images->classes(),
                       [](int64_t count) { return counted(count, "image") + " of"; }));
}

}  // namespace shoal::app
