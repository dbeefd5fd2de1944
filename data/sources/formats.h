#pragma once
// The table of record formats: files that hold many images. A new format is a reader and a row.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/stream/record_stream.h"

namespace shoal::data {

struct RecordFormat {
  std::string_view name;  // for messages
  // Files.
  bool (*is_file)(const File&);
  std::shared_ptr<const Dataset> (*open_files)(const std::vector<std::string>& paths,
                                               const OpenOptions&);
  // Streams. `begins` gets the first kFormatHead bytes, or all.
  bool (*begins)(std::span<const uint8_t>);
  std::unique_ptr<RecordStream> (*open_stream)(ByteSource&, const StreamLabels&,
                                               const ExampleKeys&);
};
inline constexpr size_t kFormatHead = 512;  // bytes

std::span<const RecordFormat> record_formats();
std::string format_names();  // "a tar, RecordIO, TFRecord"

}  // namespace shoal::data
