#pragma once
// Reads the images of tars from front to back. Several tars may follow one another, like the
// objects in a SageMaker pipe.

#include <memory>

#include "data/byte_source.h"
#include "data/container/record_stream.h"

namespace shoal::data {

// `source` and `labels` must outlive the stream. The last argument is unused; all formats have the
// same signature (sources/formats.h).
std::unique_ptr<RecordStream> open_tar_stream(ByteSource& source, const StreamLabels& labels,
                                              const ExampleKeys&);

}  // namespace shoal::data
