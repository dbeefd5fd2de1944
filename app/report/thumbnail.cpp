#include "app/report/thumbnail.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "data/file.h"
#include "data/jpeg/turbo.h"
#include "data/limits.h"

namespace shoal::app {

namespace {

constexpr int kQuality = 80;

}  // namespace

std::vector<uint8_t> Thumbnails::of_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw std::runtime_error("there is no such file");
  if (data::read_file(path, data::kMaxFileBytes, bytes_) > data::kMaxFileBytes)
    throw std::runtime_error("the file is too large");
  const data::Size full = reader_.open(bytes_);
  const double share = std::min(
      1.0, static_cast<double>(kSide) / static_cast<double>(std::max(full.width, full.height)));
  const auto scaled = [share](int64_t side) {
    return std::max<int64_t>(1, std::llround(static_cast<double>(side) * share));
  };
  const data::Size size{scaled(full.width), scaled(full.height)};
  resizer_.begin({full.width, size.width, 0, size.width, false},
                 {full.height, size.height, 0, size.height, false}, data::Interpolation::bilinear);
  reader_.start(resizer_.needed(), resizer_.padding());
  for (data::RowBlock rows = reader_.next(); rows.count > 0; rows = reader_.next())
    resizer_.push(rows);
  pixels_.resize(static_cast<size_t>(3 * size.width * size.height));
  resizer_.finish(pixels_.data(), 3 * size.width);
  return data::encode_jpeg(pixels_.data(), size, kQuality, /*subsample=*/true);
}

}  // namespace shoal::app
