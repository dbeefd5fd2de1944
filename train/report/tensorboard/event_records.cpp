#include "train/report/tensorboard/event_records.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "base/file/crc32c.h"
#include "base/json.h"
#include "base/round.h"
#include "data/jpeg/turbo.h"
#include "data/records/tf_record_reader.h"
#include "tensorboard.pb.h"
#include "train/report/setting_value.h"
#include "train/report/utc_time.h"

namespace shoal::train {
namespace {

namespace pb = shoal::tensorboard;

constexpr int64_t kGap = 2;  // pixels between two images of a grid
constexpr int kJpegQuality = 92;

void add_checksum(std::string& record, const void* bytes, size_t size) {
  const uint32_t sum = masked_crc(crc32c(0, bytes, size));
  record.append(reinterpret_cast<const char*>(&sum), sizeof sum);
}

std::string framed(const std::string& data) {
  const uint64_t length = data.size();
  std::string record(reinterpret_cast<const char*>(&length), sizeof length);
  add_checksum(record, &length, sizeof length);
  record += data;
  add_checksum(record, data.data(), data.size());
  return record;
}

std::string framed(pb::Event& event, double time, int64_t step) {
  event.set_wall_time(time);
  event.set_step(step);
  return framed(event.SerializeAsString());
}

void set_text(pb::Value& value, const std::string& tag, const std::string& markdown) {
  value.set_tag(tag);
  value.mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
  value.mutable_tensor()->set_dtype(pb::Tensor::STRING);
  value.mutable_tensor()->mutable_tensor_shape();  // an empty shape means a scalar
  value.mutable_tensor()->add_string_val(markdown);
}

std::string hparams_event(const char* tag, const pb::HParams& content) {
  pb::Event event;
  pb::Value& value = *event.mutable_summary()->add_value();
  value.set_tag(tag);
  auto& plugin = *value.mutable_metadata()->mutable_plugin_data();
  plugin.set_plugin_name("hparams");
  plugin.set_content(content.SerializeAsString());
  value.mutable_tensor()->set_dtype(pb::Tensor::FLOAT);  // an empty tensor; readers require one
  value.mutable_tensor()->mutable_tensor_shape()->add_dim();
  return framed(event, wall_time(), 0);
}

// Puts the images into a nearly square grid.
pb::Image grid_image(const ImageGrid& grid) {
  const auto count = static_cast<int64_t>(grid.images.size());
  const auto columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  const int64_t rows = ceil_divide(count, columns);
  const int64_t width = columns * (grid.width + kGap) - kGap;
  const int64_t height = rows * (grid.height + kGap) - kGap;
  std::vector<uint8_t> pixels(static_cast<size_t>(width * height * 3), 255);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t top = i / columns * (grid.height + kGap),
                  left = i % columns * (grid.width + kGap);
    for (int64_t y = 0; y < grid.height; ++y)
      std::memcpy(&pixels[static_cast<size_t>(((top + y) * width + left) * 3)],
                  &grid.images[static_cast<size_t>(i)][static_cast<size_t>(y * grid.width * 3)],
                  static_cast<size_t>(grid.width * 3));
  }
  const std::vector<uint8_t> jpeg =
      data::encode_jpeg(pixels.data(), {width, height}, kJpegQuality, /*subsample=*/false);
  pb::Image image;
  image.set_width(static_cast<int32_t>(width));
  image.set_height(static_cast<int32_t>(height));
  image.set_colorspace(3);
  image.set_encoded_image_string(jpeg.data(), jpeg.size());
  return image;
}

bool is_image_or_histogram(const pb::Value& value) {
  return value.value_case() == pb::Value::kImage || value.value_case() == pb::Value::kHisto;
}

}  // namespace

std::string first_records() {
  pb::Event version, restart;
  version.set_file_version("brain.Event:2");
  restart.mutable_session_log()->set_status(pb::SessionLog::START);
  return framed(version, wall_time(), 0) + framed(restart, wall_time(), 0);
}

std::string scalar_record(double time, int64_t step, const NamedValues& values) {
  pb::Event event;
  for (const auto& [tag, number] : values) {
    pb::Value& value = *event.mutable_summary()->add_value();
    value.set_tag(tag);
    value.set_simple_value(static_cast<float>(number));
  }
  return framed(event, time, step);
}

std::string image_record(const ImageGrid& grid) {
  pb::Event event;
  pb::Value& value = *event.mutable_summary()->add_value();
  value.set_tag(grid.tag);
  *value.mutable_image() = grid_image(grid);
  if (!grid.captions.empty()) {
    std::string table = "| image, row by row | |\n|---|---|\n";
    for (size_t i = 0; i < grid.captions.size(); ++i)
      table += "| " + std::to_string(i + 1) + " | " + grid.captions[i] + " |\n";
    set_text(*event.mutable_summary()->add_value(), grid.tag + "_captions", table);
  }
  return framed(event, wall_time(), grid.step);
}

std::string histogram_record(int64_t step, const std::vector<Histogram>& histograms) {
  pb::Event event;
  for (const Histogram& histogram : histograms) {
    pb::Value& value = *event.mutable_summary()->add_value();
    value.set_tag(histogram.tag);
    pb::Histogram& to = *value.mutable_histo();
    to.set_min(histogram.min);
    to.set_max(histogram.max);
    to.set_sum(histogram.sum);
    to.set_sum_squares(histogram.sum_of_squares);
    const auto parts = static_cast<double>(histogram.counts.size());
    double values = 0;
    for (size_t i = 0; i < histogram.counts.size(); ++i) {
      const double share = static_cast<double>(i + 1) / parts;
      to.add_bucket_limit(histogram.min + share * (histogram.max - histogram.min));
      to.add_bucket(static_cast<double>(histogram.counts[i]));
      values += to.bucket(static_cast<int>(i));
    }
    to.set_num(values);
  }
  return framed(event, wall_time(), step);
}

std::string text_record(const std::string& tag, const std::string& markdown) {
  pb::Event event;
  set_text(*event.mutable_summary()->add_value(), tag, markdown);
  return framed(event, wall_time(), 0);
}

std::string hparams_record(const std::vector<SavedSetting>& settings, double time) {
  pb::HParams content;
  pb::HParams::Start& start = *content.mutable_session_start_info();
  start.set_start_time_secs(time);
  for (const SavedSetting& setting : settings) {
    const auto value = setting_value(setting.value);
    pb::HParams::Setting& to = (*start.mutable_hparams())[setting.name];
    if (value.is_boolean())
      to.set_bool_value(value.get<bool>());
    else if (value.is_number())
      to.set_number_value(value.get<double>());
    else
      to.set_string_value(setting.value);
  }
  return hparams_event("_hparams_/session_start_info", content);
}

std::string hparams_end_record(const std::string& outcome, double time) {
  pb::HParams content;
  pb::HParams::End& end = *content.mutable_session_end_info();
  end.set_end_time_secs(time);
  end.set_status(outcome == "complete" ? pb::HParams::End::SUCCESS
                 : outcome == "failed" ? pb::HParams::End::FAILURE
                                       : pb::HParams::End::UNKNOWN);
  return hparams_event("_hparams_/session_end_info", content);
}

std::string kept_records(const std::vector<char>& file,
                         const std::function<bool(const std::string& tag, int64_t step)>& keep) {
  constexpr size_t kAround = data::kTfRecordHead + data::kTfRecordCheck;
  std::string kept;
  std::span<const char> rest(file);
  while (rest.size() >= kAround) {
    const auto* head = reinterpret_cast<const uint8_t*>(rest.data());
    const auto length = data::tf_record_length(head);
    if (!length || *length > rest.size() - kAround) break;
    const std::span<const uint8_t> bytes(head + data::kTfRecordHead, *length);
    pb::Event event;
    if (!data::tf_record_is_whole(bytes, bytes.data() + bytes.size()) ||
        !event.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      break;
    if (event.summary().value_size() > 0 && is_image_or_histogram(event.summary().value(0)) &&
        keep(event.summary().value(0).tag(), event.step()))
      kept.append(rest.data(), kAround + *length);
    rest = rest.subspan(kAround + *length);
  }
  return kept;
}

}  // namespace shoal::train
