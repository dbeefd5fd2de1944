#pragma once
// Named pipes as a source of images. Each epoch reads the next pipe: PATH_0, PATH_1, ….

#include <memory>
#include <string>

#include "data/dataset.h"
#include "data/stream/stream.h"

namespace shoal::data {

// `path`: path of the pipes without the suffix _0, _1, …. If it is empty, there are no pipes and
// every epoch is empty. The suffix counts the epochs that this process has begun, not the epochs of
// training: each evaluation reads the next pipe, and a resumed run begins at 0 again.
//
// Labels are looked up in options.classes. Throws std::invalid_argument if that list is empty.
std::shared_ptr<const Stream> open_pipes(const std::string& path, const OpenOptions& options);

}  // namespace shoal::data
