#include "models/catalogue.h"

#include <functional>
#include <stdexcept>

#include "base/nearest.h"
#include "models/networks/efficientnet.h"
#include "models/networks/efficientnet_v2.h"
#include "models/networks/mobilenet_v2.h"
#include "models/networks/mobilenet_v3.h"
#include "models/networks/resnet.h"

namespace shoal::models {
namespace {

struct Entry {
  std::string name;
  std::function<Network(const ModelOptions&)> make;
};

template <class Row>
void add(std::vector<Entry>& list, const std::vector<Row>& rows,
         Network (*make)(const Row&, const ModelOptions&)) {
  for (const Row& row : rows)
    list.push_back({row.name, [&row, make](const auto& options) { return make(row, options); }});
}

const std::vector<Entry>& table() {
  static const std::vector<Entry> entries = [] {
    std::vector<Entry> list;
    add(list, efficientnets(), efficientnet);
    add(list, efficientnets_v2(), efficientnet_v2);
    add(list, mobilenets_v2(), mobilenet_v2);
    add(list, mobilenets_v3(), mobilenet_v3);
    add(list, resnets(), resnet);
    return list;
  }();
  return entries;
}

// Returns a name without the parts in which timm's names differ from shoal's. For example,
// mobilenetv2_100 and mobilenet_v2 give the same result.
std::string without_style(std::string name) {
  if (name.starts_with("tf_")) name.erase(0, 3);
  if (name.ends_with("_100")) name.erase(name.size() - 4);  // timm's width in percent
  std::erase(name, '_');
  return name;
}

// Returns the known name that the user probably meant; empty if none is similar.
std::string similar(const std::string& name) {
  for (const std::string& known : names())
    if (without_style(known) == without_style(name)) return known;
  return nearest(name, names());
}

const Entry& find(const std::string& name) {
  for (const Entry& entry : table()) {
    if (entry.name == name) return entry;
  }
  std::string message = "unknown model '" + name + "'";
  const std::string near = similar(name);
  if (!near.empty()) {
    message += "; did you mean '" + near + "'?";
  } else {
    message += "; known models:";
    for (const std::string& known : names()) message += " " + known;
  }
  throw std::invalid_argument(message);
}

}  // namespace

Network make_network(const ModelOptions& options) {
  const Entry& entry = find(options.name);
  if (options.classes < 1) throw std::invalid_argument("the number of classes must be at least 1");
  for (const std::optional<double>& rate : {options.dropout, options.drop_path}) {
    if (rate && !(*rate >= 0 && *rate <= 1)) {
      throw std::invalid_argument("dropout and drop path must be between 0 and 1");
    }
  }
  return entry.make(options);
}

ModelInfo describe(const ModelOptions& options) {
  return make_network(options).info;
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
