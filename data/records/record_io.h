#pragma once
// RecordIO files: MXNet's image records, and objects that SageMaker has wrapped in records.
//
// A record consists of one or more parts. A part is a magic number, a 32-bit word, a piece of the
// payload, and zeros up to a multiple of 4 bytes. The word consists of 3 bits for the kind of part
// (whole, first, middle or last) and 29 bits for the length of the piece. If a payload contains the
// magic number at an offset that is a multiple of 4, the writer splits the record there and omits
// the number; the reader puts it back. Sources: dmlc-core, include/dmlc/recordio.h; MXNet,
// python/mxnet/recordio.py.
//
//   MXNet's payload     u32 flag, f32 label, u64 id, u64 id2, the image. If flag is 1, one more f32
//                       comes before the image and is the label. If NAME.lst exists beside
//                       NAME.rec, it names the images and, by their folders, the classes.
//   SageMaker's payload an unchanged object: an image, or a label as a number, a name or JSON
//                       (container/label_text.h). A label belongs to the image in the previous or
//                       next record. SageMaker wraps the attributes of an augmented manifest in
//                       this way.

#include <memory>
#include <string>
#include <vector>

#include "data/container/record_stream.h"
#include "data/container/stream_labels.h"
#include "data/dataset.h"
#include "data/file.h"

namespace shoal::data {

// Whether the file begins with a complete record.
bool is_record_io(const File& file);

// Opens all images, in the order of files and records. Throws std::invalid_argument naming file,
// record and position if a record is damaged or has several labels, a label is invalid, or an image
// has no label.
std::shared_ptr<const Dataset> open_record_io(const std::vector<std::string>& paths,
                                              const OpenOptions& options);

// Reads the images of records from front to back. The arguments must outlive the stream.
std::unique_ptr<RecordStream> open_record_io_stream(ByteSource& source, const StreamLabels& labels);

}  // namespace shoal::data
