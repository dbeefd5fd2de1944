#pragma once
// The weights of the classes in the loss (--class-weights), and messages about them and --balance.

#include <memory>
#include <string>
#include <vector>

#include "data/source.h"
#include "dist/connect.h"
#include "train/job/job.h"

namespace shoal::app {

// Parses class weights, in the order of `classes`. `text`: lines `CLASS WEIGHT`, a JSON object
// {CLASS: WEIGHT}, or a JSON list in the order of the classes. Throws UserError naming `path`
// unless each class has exactly one weight of 0 or more, and no other class has one.
std::vector<double> parse_class_weights(const std::string& path, const std::string& text,
                                        const std::vector<std::string>& classes);

// Returns the weights that --class-weights asks for, scaled so that their mean over the images of
// an epoch is 1; empty for `none`. With `balanced`, the weight of a class is in inverse proportion
// to how often an epoch uses its images, or 0 if it has none. `train`: the images that the run
// trains on. Rank 0 reads the file, and logs the smallest and the largest weight of a class with
// images. Throws UserError naming the option. Collective.
std::vector<double> class_weights(const train::ResolvedJob& job, const data::Source& train,
                                  const dist::Communicator& communicator);

// With --balance, logs the classes of which an epoch uses the fewest and the most images. Does
// nothing without --balance. Arguments: as for class_weights(). Collective.
void log_balance(const train::ResolvedJob& job, const data::Source& train,
                 const dist::Communicator& communicator);

}  // namespace shoal::app
