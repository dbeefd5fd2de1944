#include "models/model.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "models/builder.h"
#include "models/efficientnet.h"
#include "models/resnet.h"

namespace shoal::models {
namespace {

struct Entry {
  std::string name;
  int64_t eval_size;
  std::function<std::unique_ptr<Classifier>(const ModelOptions&, Builder&)> make;
};

const std::vector<Entry>& table() {
  static const std::vector<Entry> entries = [] {
    std::vector<Entry> list;
    for (const EfficientNetRow& row : efficientnets()) {
      list.push_back(
          {row.name, row.eval_size, [&row](const ModelOptions& options, Builder& builder) {
             return make_efficientnet(row, options, builder);
           }});
    }
    for (const ResNetRow& row : resnets()) {
      list.push_back({row.name, kResNetSize, [&row](const ModelOptions& options, Builder& builder) {
                        return make_resnet(row, options, builder);
                      }});
    }
    return list;
  }();
  return entries;
}

// Insertions, deletions and substitutions that turn a into b (Levenshtein).
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row.back();
}

const Entry& find(const std::string& name) {
  const std::vector<Entry>& entries = table();
  const auto nearest =
      std::min_element(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
        return distance(a.name, name) < distance(b.name, name);
      });
  if (nearest->name == name) return *nearest;
  throw std::invalid_argument("unknown model '" + name + "'; did you mean '" + nearest->name +
                              "'?");
}

std::unique_ptr<Classifier> build(const ModelOptions& options, bool allocate) {
  const Entry& entry = find(options.name);
  if (options.classes < 1) throw std::invalid_argument("a model needs at least 1 class");
  for (const std::optional<double>& rate : {options.dropout, options.drop_path}) {
    if (rate && !(*rate >= 0 && *rate <= 1)) {
      throw std::invalid_argument("dropout and drop path are probabilities between 0 and 1");
    }
  }
  Builder builder(options.seed, allocate, entry.eval_size);
  return entry.make(options, builder);
}

}  // namespace

std::unique_ptr<Classifier> create(const ModelOptions& options) {
  return build(options, /*allocate=*/true);
}

ModelInfo describe(const ModelOptions& options) {
  return build(options, /*allocate=*/false)->info();
}

const std::vector<std::string>& names() {
  static const std::vector<std::string> list = [] {
    std::vector<std::string> names;
    for (const Entry& entry : table()) names.push_back(entry.name);
    return names;
  }();
  return list;
}

}  // namespace shoal::models
