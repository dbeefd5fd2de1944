#include "tests/data/sources/support.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <numeric>

namespace shoal::data {

std::string tar_header(const std::string& name, const std::string& size_field, char type) {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 7, "0000644");
  header.replace(124, size_field.size(), size_field);
  header.replace(136, 11, "00000000000");
  header.replace(148, 8, "        ");
  header[156] = type;
  header.replace(257, 5, "ustar");
  header.replace(263, 2, "00");
  const int sum = std::accumulate(header.begin(), header.end(), 0,
                                  [](int all, char c) { return all + static_cast<uint8_t>(c); });
  char digits[16];
  std::snprintf(digits, sizeof digits, "%06o", static_cast<unsigned>(sum));
  header.replace(148, 7, std::string(digits, 6) + '\0');
  return header;
}

std::string make_tar(const Members& members) {
  std::string tar;
  for (const auto& [name, content] : members) {
    char size[16];
    std::snprintf(size, sizeof size, "%011o", static_cast<unsigned>(content.size()));
    tar += tar_header(name, size, name.ends_with('/') ? '5' : '0') + content;
    tar.resize((tar.size() + 511) / 512 * 512);
  }
  tar.resize(tar.size() + 1024);
  return tar;
}

std::vector<std::string> described(const Dataset& data) {
  std::vector<std::string> lines;
  Bytes bytes;
  for (int64_t i = 0; i < data.size(); ++i) {
    const std::string name = data.name(i);
    data.read(i, bytes);
    const int32_t label = data.label(i);
    lines.push_back(std::to_string(label) + " " + data.classes()[static_cast<size_t>(label)] + " " +
                    name.substr(name.find_last_of("/:") + 1) + " " +
                    std::string(bytes.begin(), bytes.end()));
  }
  return lines;
}

void age_file(const std::string& path) {
  namespace fs = std::filesystem;
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
}

std::string message_of(const std::string& source, const OpenOptions& options) {
  try {
    open_dataset(source, options);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

std::string content(const Dataset& data, int64_t sample) {
  Bytes bytes;
  data.read(sample, bytes);
  return {bytes.begin(), bytes.end()};
}

std::string word(uint32_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string mxnet_record(const std::string& payload) {
  return word(0xced7230a) + word(static_cast<uint32_t>(payload.size())) + payload +
         std::string((4 - payload.size() % 4) % 4, '\0');
}

std::string jpeg_text(int64_t index) {
  const Bytes bytes = made_jpeg(index);
  return {bytes.begin(), bytes.end()};
}

std::string golden_record(const std::string& name) {
  return SHOAL_SOURCE_DIR "/tests/golden/records/" + name;
}

std::string golden_record_bytes(const std::string& name) {
  const Bytes bytes = read_golden("records/" + name);
  return {bytes.begin(), bytes.end()};
}

}  // namespace shoal::data
