#pragma once
// Reads the images of tars from front to back. Several tars may follow one another, like the
// objects in a SageMaker pipe.

#include <memory>

#include "data/byte_source.h"
#include "data/container/record_stream.h"
#include "data/container/stream_labels.h"

namespace shoal::data {

// The arguments must outlive the stream.
std::unique_ptr<RecordStream> open_tar_stream(ByteSource& source, const StreamLabels& labels);

}  // namespace shoal::data
