// shoal models: lists the networks, or the layers of one.
#include "app/commands/local/local_commands.h"
#include "app/commands/local/selected_rows.h"
#include "app/commands/print_table.h"
#include "app/options/class_names.h"
#include "base/error.h"
#include "base/format/grouped.h"
#include "base/json.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/text.h"
#include "models/catalogue.h"

namespace shoal::app {
namespace {

using Json = nlohmann::ordered_json;

models::ModelOptions named(const std::string& name, const Arguments& arguments) {
  models::ModelOptions options;
  options.name = name;
  options.classes = arguments.job.classes.value_or(options.classes);
  return options;
}

// Returns the network. With --size, its shapes and multiply-adds are those of this image size.
models::Network network_of(const std::string& name, const Arguments& arguments) {
  models::Network network = models::make_network(named(name, arguments));
  if (arguments.job.size) models::set_image_size(network, *arguments.job.size);
  return network;
}

// Returns the image size in pixels for which multiply-adds are printed.
int64_t counted_side(const models::ModelInfo& info, const Arguments& arguments) {
  return arguments.job.size.value_or(info.eval_size);
}

// Returns the networks that the user named by whole names or by parts of names; all networks if the
// user named none. Throws UserError for unknown names.
std::vector<std::string> selected(const Arguments& arguments) {
  const std::vector<std::string>& all = models::names();
  RowNames rows;
  rows.rows = all.size();
  rows.matches = [&](const std::string& word, size_t row) { return all[row] == word; };
  rows.contains = [&](const std::string& word, size_t row) {
    return all[row].find(word) != std::string::npos;
  };
  rows.unknown = [&](const std::string& word) {
    const std::string near = nearest(word, all);
    return UserError("no network's name contains '" + word + "'" +
                     (near.empty() ? "" : "; did you mean " + near + "?"));
  };
  std::vector<std::string> names;
  for (const size_t row : selected_rows(arguments.paths, rows)) names.push_back(all[row]);
  return names;
}

const char* filter_of(const models::ModelInfo& info) {
  return info.bicubic ? "bicubic" : "bilinear";
}

void list_networks(const Arguments& arguments) {
  const auto px = [](int64_t size) { return std::to_string(size) + " px"; };
  std::vector<std::vector<std::string>> rows;
  for (const std::string& name : selected(arguments)) {
    const models::ModelInfo info = network_of(name, arguments).info;
    rows.push_back(
        {info.name, grouped(info.parameters),
         strf("%.2f G at %ld px", info.multiply_adds / 1e9, counted_side(info, arguments)),
         px(info.train_size), px(info.eval_resize), px(info.eval_size), filter_of(info)});
  }
  print_table({{"name"},
               {"parameters", true},
               {"multiply-adds", true},
               {"train size", true},
               {"eval resize", true},
               {"eval crop", true},
               {"filter"}},
              rows);
}

Json networks(const Arguments& arguments) {
  Json list = Json::array();
  for (const std::string& name : selected(arguments)) {
    const models::ModelInfo info = network_of(name, arguments).info;
    list.push_back({{"name", info.name},
                    {"classes", info.classes},
                    {"parameters", info.parameters},
                    {"multiply_adds", info.multiply_adds},
                    {"multiply_adds_size", counted_side(info, arguments)},
                    {"train_size", info.train_size},
                    {"eval_size", info.eval_size},
                    {"eval_resize", info.eval_resize},
                    {"interpolation", filter_of(info)},
                    {"mean", info.normalization.mean},
                    {"std", info.normalization.std},
                    {"stages", info.stages}});
  }
  return list;
}

// Number of parameters and stage of one node of a network. A node without parameters belongs to the
// stage of the node before it.
struct Layer {
  int64_t parameters = 0;
  int stage = 0;
};

std::vector<Layer> layers_of(const models::Network& network) {
  std::vector<Layer> layers(network.nodes.size());
  const std::vector<size_t> nodes = models::nodes_of_parameters(network);
  for (size_t i = 0; i < nodes.size(); ++i) {
    Layer& layer = layers[nodes[i]];
    layer.parameters += network.parameters[i].elements();
    layer.stage = network.parameters[i].traits.stage;
  }
  for (size_t i = 1; i < layers.size(); ++i)
    if (layers[i].parameters == 0) layers[i].stage = layers[i - 1].stage;
  return layers;
}

std::string shape_text(const models::Shape& shape) {
  return strf("%ldx%ldx%ld", shape.channels, shape.height, shape.width);
}

void list_layers(const models::Network& network, int64_t side) {
  const std::vector<Layer> layers = layers_of(network);
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < network.nodes.size(); ++i) {
    const models::Node& node = network.nodes[i];
    const std::string& stage = network.info.stages[static_cast<size_t>(layers[i].stage)];
    rows.push_back({node.name.empty() ? "-" : node.name, describe(node.operation),
                    shape_text(node.out), grouped(layers[i].parameters),
                    strf("%.2f M", node.multiply_adds / 1e6), stage});
  }
  print_table({{"layer"},
               {"operation"},
               {"output", true},
               {"parameters", true},
               {"multiply-adds", true},
               {"stage"}},
              rows);
  log::line(strf("%s: %s parameters, %.2f G multiply-adds for one image of %ld px",
                 network.info.name.c_str(), grouped(network.info.parameters).c_str(),
                 network.info.multiply_adds / 1e9, side));
}

Json layers_json(const models::Network& network) {
  const std::vector<Layer> layers = layers_of(network);
  Json list = Json::array();
  for (size_t i = 0; i < network.nodes.size(); ++i) {
    const models::Node& node = network.nodes[i];
    list.push_back({{"name", node.name},
                    {"operation", describe(node.operation)},
                    {"inputs", node.inputs},
                    {"output", {node.out.channels, node.out.height, node.out.width}},
                    {"parameters", layers[i].parameters},
                    {"multiply_adds", node.multiply_adds},
                    {"stage", network.info.stages[static_cast<size_t>(layers[i].stage)]}});
  }
  return list;
}

models::Network listed_network(const Arguments& arguments) {
  try {
    return network_of(arguments.layers, arguments);
  } catch (const std::invalid_argument& error) {
    throw UserError(std::string("--layers: ") + error.what());
  }
}

}  // namespace

int models_command(const Call& call) {
  Arguments arguments = call.arguments;
  count_classes(arguments.job);
  if (!arguments.layers.empty()) {
    if (!arguments.paths.empty())
      throw UserError("--layers names the network; remove '" + arguments.paths.front() + "'");
    const models::Network network = listed_network(arguments);
    if (arguments.json) {
      log::line(layers_json(network).dump(2));
    } else {
      list_layers(network, counted_side(network.info, arguments));
    }
  } else if (arguments.json) {
    log::line(networks(arguments).dump(2));
  } else {
    list_networks(arguments);
  }
  return 0;
}

}  // namespace shoal::app
