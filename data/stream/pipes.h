#pragma once
// Named pipes as a source of images: each epoch another one, PATH_0, PATH_1, ….

#include <functional>
#include <memory>
#include <string>

#include "data/dataset.h"

namespace shoal::data {

// `path`: of the pipes without _0, _1 …; empty: there are none, and each epoch is empty at once.
// Numbers count the epochs begun by this process, whatever the epochs of training are called: an
// evaluation of its own pipes is one each time, and a run that is started again begins at 0.
//
// options.classes are the classes: labels are looked up in them. Throws std::invalid_argument when
// there are none.
std::shared_ptr<const Dataset> open_pipes(const std::string& path, const OpenOptions& options);

// True for "pipe:…", as open_dataset takes it.
bool is_pipe_source(const std::string& source);

}  // namespace shoal::data
