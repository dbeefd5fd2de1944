#pragma once
// RecordIO files: MXNet's image records, and objects that SageMaker wraps.
//
// A record is a magic number, a word of 3 bits (whole, first, middle, last part) and 29 bits
// (length), the payload, and zeros up to a multiple of 4. A payload that contains the magic number at
// a multiple of 4 is split there and the number is left out; reading puts it back. Sources: dmlc-core,
// include/dmlc/recordio.h; MXNet, python/mxnet/recordio.py.
//
//   MXNet's payload     u32 flag, f32 label, u64 id, u64 id2, the image. flag 1: one more f32,
//                       the label. NAME.lst beside NAME.rec, if present, names the images and, by
//                       their folders, the classes.
//   SageMaker's payload an unchanged object: images, each with a record before or behind it that
//                       holds its label as a number, a name or JSON (label_text.h). The attributes
//                       of an augmented manifest are wrapped in this way.

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/file.h"
#include "data/stream/record_stream.h"

namespace shoal::data {

bool is_record_io(const File& file);

// Images in the order of files and records. Throws std::invalid_argument naming file, place and
// record for damage, several labels, a label that is not a whole number >= 0, and an image without a
// label.
std::shared_ptr<const Dataset> open_record_io(const std::vector<std::string>& paths,
                                              const OpenOptions& options);

// The images of records that come one after the other. `source` and `labels` must outlive the stream.
std::unique_ptr<RecordStream> open_record_io_stream(ByteSource& source, const StreamLabels& labels,
                                                    const ExampleKeys&);

}  // namespace shoal::data
