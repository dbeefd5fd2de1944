#include "data/sources/formats.h"

#include <stdexcept>

#include "data/records/cifar.h"
#include "data/records/record_io.h"
#include "data/records/record_list.h"
#include "data/records/record_parts.h"
#include "data/records/tf_record.h"
#include "data/records/tf_record_reader.h"
#include "data/sources/archives/tar_source.h"
#include "data/sources/archives/zip_source.h"
#include "data/tar/tar_reader.h"
#include "data/tar/tar_stream.h"
#include "data/tar/tar_walker.h"

namespace shoal::data {
namespace {

constexpr RecordFormat kFormats[] = {
    {"a tar", is_tar, open_tars, begins_tar,
     [](ByteSource& source, const StreamLabels& labels, const ExampleKeys&) {
       return open_tar_stream(source, labels);
     },
     "tar"},
    {"RecordIO", is_record_io, open_record_io, begins_record_io,
     [](ByteSource& source, const StreamLabels& labels, const ExampleKeys&) {
       return open_record_io_stream(source, labels);
     },
     "rec", belongs_to_record_io},
    {"TFRecord", is_tf_record, open_tf_records, begins_tf_record, open_tf_record_stream},
    {"a .zip archive", is_zip, open_zips, begins_zip, nullptr, "zip"},
    // Recognized by name and size, which a stream does not have.
    {"a CIFAR file", is_cifar, open_cifar, [](std::span<const uint8_t>) { return false; }, nullptr,
     "", belongs_to_cifar},
};

}  // namespace

std::span<const RecordFormat> record_formats() {
  return kFormats;
}

std::string format_names(bool of_streams) {
  std::string text;
  for (const RecordFormat& format : kFormats)
    if (!of_streams || format.open_stream != nullptr)
      text += std::string(text.empty() ? "" : ", ") += format.name;
  return text;
}

void refuse_format(const std::string& name, const RecordFormat* format) {
  const std::string found =
      format == nullptr ? " has an unknown format"
                        : " is " + std::string(format->name) + ", which cannot be read from a pipe";
  throw std::invalid_argument(name + found + "; expected one of: " + format_names(true));
}

}  // namespace shoal::data
