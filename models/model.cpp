#include "models/model.h"

#include "models/catalogue.h"
#include "models/executor.h"

namespace shoal::models {

std::unique_ptr<Classifier> create(const ModelOptions& options) {
  return std::make_unique<Executor>(make_network(options), options.seed, options.kernels);
}

}  // namespace shoal::models
