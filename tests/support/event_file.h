#pragma once
// Reads TensorBoard's event files.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace shoal::test {

struct EventValue {
  std::string tag;
  int64_t step = 0;
  double time = 0;        // seconds since 1970
  double number = 0;      // scalar: its value; histogram: its number of values
  std::string kind = {};  // "scalar", "image", "histogram" or "tensor"
  // The file of an image, the serialized message of a histogram, or the text of a tensor. For a
  // tensor without text, the data of the TensorBoard plug-in that shows it.
  std::string bytes = {};
};

// Returns the values of the event file in the folder. Ignores superseded files. Fails the test if
// there is not exactly one other file, if a record is damaged, or if the file does not begin with
// the version and the start of a session.
std::vector<EventValue> read_event_file(const std::filesystem::path& folder);

// Returns the records in `bytes`, without their frames and with wall_time 0.
std::vector<std::string> timeless_records(const std::string& bytes);

}  // namespace shoal::test
