#pragma once
// Named pipes as a source of images. Each epoch reads another pipe: PATH_0, PATH_1, ….

#include <memory>
#include <string>

#include "data/dataset.h"
#include "data/stream/stream.h"

namespace shoal::data {

// `path`: of the pipes, without _0, _1, …. If empty, there are no pipes and every epoch is empty.
// The number counts the epochs begun by this process, not the epochs of training: each evaluation
// reads the next pipe, and a resumed run begins at 0 again.
//
// Labels are looked up in options.classes. Throws std::invalid_argument if there are none.
std::shared_ptr<const Stream> open_pipes(const std::string& path, const OpenOptions& options);

}  // namespace shoal::data
