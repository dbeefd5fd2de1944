#include "data/sources/formats.h"

#include <stdexcept>

#include "data/records/record_io.h"
#include "data/records/record_parts.h"
#include "data/records/tf_record.h"
#include "data/records/tf_record_reader.h"
#include "data/sources/tar_source.h"
#include "data/sources/zip_source.h"
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
     "rec"},
    {"TFRecord", is_tf_record, open_tf_records, begins_tf_record, open_tf_record_stream},
    {"a .zip archive", is_zip, open_zips, begins_zip, nullptr, "zip"},
};

std::string names_of(bool (*is_wanted)(const RecordFormat&)) {
  std::string text;
  for (const RecordFormat& format : kFormats)
    if (is_wanted(format)) text += std::string(text.empty() ? "" : ", ") += format.name;
  return text;
}

}  // namespace

std::span<const RecordFormat> record_formats() {
  return kFormats;
}

std::string format_names() {
  return names_of([](const RecordFormat&) { return true; });
}

void refuse_format(const std::string& name, const RecordFormat* format) {
  const std::string found =
      format == nullptr ? " has an unknown format"
                        : " is " + std::string(format->name) + ", which cannot be read from a pipe";
  throw std::invalid_argument(name + found +
                              "; expected one of: " + names_of([](const RecordFormat& one) {
                                return one.open_stream != nullptr;
                              }));
}

}  // namespace shoal::data
