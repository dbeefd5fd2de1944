#pragma once
// The table of record formats: formats of files that contain many images. To add a format, write a
// reader and add a row.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/container/record_stream.h"
#include "data/container/stream_labels.h"
#include "data/dataset.h"
#include "data/records/tf_example.h"

namespace shoal::data {

struct RecordFormat {
  std::string_view name;  // for messages: "a tar"
  // Functions for files.
  bool (*is_file)(const File&);
  std::shared_ptr<const Dataset> (*open_files)(const std::vector<std::string>& paths,
                                               const OpenOptions&);
  // Functions for streams. `begins` gets the first kFormatHead bytes, or all of a shorter stream.
  // If `open_stream` is null, the format can be read only from files.
  bool (*begins)(std::span<const uint8_t>);
  std::unique_ptr<RecordStream> (*open_stream)(ByteSource&, const StreamLabels&,
                                               const ExampleKeys&);
  // Extension of a file that can replace the folder of a split (train.tar: "tar"); empty: none.
  std::string_view extension = "";
  // Whether a file accompanies the records in its folder, such as a list of their images. Such a
  // file causes no warning. Null: the format has no such files.
  bool (*belongs)(const std::string& path) = nullptr;
};
inline constexpr size_t kFormatHead = 512;  // bytes

std::span<const RecordFormat> record_formats();
// Returns the names of all formats: "a tar, RecordIO, …". `of_streams`: only the formats that
// streams may have.
std::string format_names(bool of_streams = false);
// Throws std::invalid_argument, which says that the stream `name` cannot be read, and lists the
// formats that streams may have. `format`: the format of this stream; null if it is unknown.
[[noreturn]] void refuse_format(const std::string& name, const RecordFormat* format = nullptr);

}  // namespace shoal::data
