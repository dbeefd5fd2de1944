#pragma once
// Maps the classes of evaluated images to the outputs of a model, for eval.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/commands/inputs/weights.h"
#include "app/options/options.h"
#include "data/source.h"
#include "dist/group.h"

namespace shoal::app {

// Returns the names of the model's classes: those of --classes or, without --classes, those of the
// weights, which may have none. `--classes imagenet` stands for the names of ImageNet's class
// folders. Throws UserError if the number of names in --classes does not fit the model.
std::vector<std::string> folder_names(const Arguments& arguments, const Weights& weights);

// Relabels images for weights that have no class names. If the classes of the images are some of
// ImageNet's folders and the model has 1000 outputs, uses ImageNet's labels. If the classes of the
// images are numbers, uses these as labels. Otherwise returns the images unchanged.
std::shared_ptr<const data::Source> with_labels_of(const Weights& weights,
                                                   std::shared_ptr<const data::Source> images);

// Returns the labels that --subset allows the model to predict; empty: all. Throws UserError if the
// file of --subset names a class that the model does not have, or omits a class that has images.
// Collective.
std::vector<int32_t> subset_of(const Arguments& arguments, const data::Source& images,
                               const dist::Group& group);

}  // namespace shoal::app
