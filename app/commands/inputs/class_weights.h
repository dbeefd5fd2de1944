#pragma once
// The weights of the classes in the loss (--class-weights), and messages about them and --balance.

#include <memory>
#include <string>
#include <vector>

#include "data/source.h"
#include "dist/connect.h"
#include "train/job/job.h"

namespace shoal::app {

// Returns the class weights in `text`, in the order of `classes`. `text`: lines `CLASS WEIGHT`, a
// JSON object {CLASS: WEIGHT}, or a JSON list in the order of `classes`. Throws UserError naming
// `path` unless each class has exactly one weight, a finite number of 0 or more, and `text` names
// no other class.
std::vector<double> parse_class_weights(const std::string& path, const std::string& text,
                                        const std::vector<std::string>& classes);

// Returns the weights that --class-weights asks for, scaled so that their mean over the images of
// an epoch is 1; empty for `none`. With `balanced`, the weight of a class is inversely proportional
// to the number of its images in an epoch; classes without images get 0. `train`: the images that
// the run trains on. Rank 0 reads the file, and logs the smallest and the largest weight among the
// classes with images. Throws UserError naming the option. Collective.
std::vector<double> class_weights(const train::ResolvedJob& job, const data::Source& train,
                                  const dist::Communicator& communicator);

// With --balance, logs which classes have the fewest and the most images in an epoch. Does nothing
// without --balance. Arguments: as for class_weights(). Collective.
void log_balance(const train::ResolvedJob& job, const data::Source& train,
                 const dist::Communicator& communicator);

}  // namespace shoal::app
