#pragma once
// RecordIO files: MXNet's image records, and objects that SageMaker wraps.
//
// A record is a magic number, a word of 3 bits (whole, first, middle, last part) and 29 bits
// (length), the payload, and zeros up to a multiple of 4. Where the payload holds the magic number
// at a multiple of 4 it is split there, and the number left out: reading puts it back. Source:
// dmlc-core, include/dmlc/recordio.h; MXNet, python/mxnet/recordio.py.
//
//   MXNet's payload     u32 flag, f32 label, u64 id, u64 id2, the image. flag 1: one more f32,
//                       the label. NAME.lst beside NAME.rec, where there is one, names images
//                       and, by their folders, classes.
//   SageMaker's         an object as it is: images, each with a record before or behind it that
//                       holds its label as a number, a name or JSON (label_text.h), as an augmented
//                       manifest's attributes are wrapped.

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/file.h"

namespace shoal::data {

bool is_record_io(const File& file);

// Images in the order of files and records. Throws std::invalid_argument naming file, place and
// record: damage, several labels, a label that is no whole number from 0 on, an image without one.
std::shared_ptr<const Dataset> open_record_io(const std::vector<std::string>& paths,
                                              const OpenOptions& options);

}  // namespace shoal::data
