#include "tests/support/event_file.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <span>

#include "data/records/tf_record_reader.h"
#include "tensorboard.pb.h"

namespace shoal::test {
namespace {

namespace fs = std::filesystem;
namespace pb = shoal::tensorboard;

std::vector<pb::Event> events_in(const std::string& bytes) {
  std::vector<pb::Event> events;
  std::span<const uint8_t> rest(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  while (!rest.empty()) {
    REQUIRE(rest.size() >= data::kTfRecordHead);
    const auto length = data::tf_record_length(rest.data());
    REQUIRE(length);
    REQUIRE(rest.size() >= data::kTfRecordHead + *length + data::kTfRecordCheck);
    const auto data = rest.subspan(data::kTfRecordHead, *length);
    REQUIRE(data::tf_record_is_whole(data, data.data() + data.size()));
    REQUIRE(events.emplace_back().ParseFromArray(data.data(), static_cast<int>(data.size())));
    rest = rest.subspan(data::kTfRecordHead + *length + data::kTfRecordCheck);
  }
  return events;
}

EventValue value_of(const pb::Event& event, const pb::Value& value) {
  EventValue read{value.tag(), event.step(), event.wall_time()};
  switch (value.value_case()) {
    case pb::Value::kSimpleValue:
      read.kind = "scalar";
      read.number = value.simple_value();
      break;
    case pb::Value::kImage:
      read.kind = "image";
      read.bytes = value.image().encoded_image_string();
      break;
    case pb::Value::kHisto:
      read.kind = "histogram";
      read.number = value.histo().num();
      read.bytes = value.histo().SerializeAsString();
      break;
    default:
      read.kind = "tensor";
      read.bytes = value.tensor().string_val_size() > 0 ? value.tensor().string_val(0)
                                                        : value.metadata().plugin_data().content();
  }
  return read;
}

}  // namespace

std::vector<EventValue> read_event_file(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (!entry.path().filename().string().starts_with("superseded-")) files.push_back(entry.path());
  REQUIRE(files.size() == 1);
  std::ifstream file(files[0], std::ios::binary);
  const std::vector<pb::Event> events = events_in({std::istreambuf_iterator<char>(file), {}});
  REQUIRE(events.size() >= 2);
  CHECK(events[0].file_version() == "brain.Event:2");
  CHECK(events[1].session_log().status() == pb::SessionLog::START);
  std::vector<EventValue> values;
  for (const pb::Event& event : events) {
    for (const pb::Value& value : event.summary().value()) values.push_back(value_of(event, value));
  }
  return values;
}

std::vector<std::string> timeless_records(const std::string& bytes) {
  std::vector<std::string> records;
  for (pb::Event& event : events_in(bytes)) {
    event.set_wall_time(0);
    records.push_back(event.SerializeAsString());
  }
  return records;
}

}  // namespace shoal::test
