#include "tests/data/sources/support.h"

#include <zlib.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <numeric>

#include "data/loader/loader.h"

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

namespace {

std::string deflate(const std::string& content) {
  z_stream z{};
  constexpr int kRaw = -15, kMemory = 8;
  if (::deflateInit2(&z, 6, Z_DEFLATED, kRaw, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) return "";
  std::string packed(::deflateBound(&z, content.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  z.avail_in = static_cast<uInt>(content.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = static_cast<uInt>(packed.size());
  ::deflate(&z, Z_FINISH);
  packed.resize(z.total_out);
  ::deflateEnd(&z);
  return packed;
}

std::string quad_word(uint64_t value) {
  return word(static_cast<uint32_t>(value)) + word(static_cast<uint32_t>(value >> 32));
}

// Returns the fields that an entry's local header and its row in the directory have in common: from
// the version to the sizes.
std::string zip_fields(const std::string& content, size_t packed, bool deflated, bool wide) {
  const auto* const bytes = reinterpret_cast<const Bytef*>(content.data());
  const auto crc = static_cast<uint32_t>(::crc32_z(0, bytes, content.size()));
  const auto size = [&](size_t value) {
    return word(wide ? UINT32_MAX : static_cast<uint32_t>(value));
  };
  return half_word(20) + half_word(0) + half_word(deflated ? 8 : 0) + word(0) + word(crc) +
         size(packed) + size(content.size());
}

}  // namespace

std::string zip_entry(const std::string& name, const std::string& content, bool deflated) {
  const std::string packed = deflated ? deflate(content) : content;
  const std::string extra = half_word(0x7777) + half_word(3) + "abc";  // only in local headers
  return "PK\3\4" + zip_fields(content, packed.size(), deflated, false) +
         half_word(static_cast<uint16_t>(name.size())) +
         half_word(static_cast<uint16_t>(extra.size())) + name + extra + packed;
}

std::string zip_row(const std::string& name, const std::string& content, uint64_t offset,
                    bool deflated, bool wide) {
  const size_t packed = deflated ? deflate(content).size() : content.size();
  std::string extra;
  if (wide)
    extra = half_word(0x7777) + half_word(0) + half_word(1) + half_word(24) +
            quad_word(content.size()) + quad_word(packed) + quad_word(offset);
  const std::string comment = "a comment";
  return "PK\1\2" + half_word(20) + zip_fields(content, packed, deflated, wide) +
         half_word(static_cast<uint16_t>(name.size())) +
         half_word(static_cast<uint16_t>(extra.size())) +
         half_word(static_cast<uint16_t>(comment.size())) + half_word(0) + half_word(0) + word(0) +
         word(wide ? UINT32_MAX : static_cast<uint32_t>(offset)) + name + extra + comment;
}

std::string zip_end(uint64_t rows, uint64_t bytes, uint64_t offset, bool wide,
                    const std::string& comment) {
  std::string end;
  if (wide)
    end = "PK\6\6" + quad_word(44) + half_word(45) + half_word(45) + word(0) + word(0) +
          quad_word(rows) + quad_word(rows) + quad_word(bytes) + quad_word(offset) + "PK\6\7" +
          word(0) + quad_word(offset + bytes) + word(1);
  const std::string few = half_word(wide ? UINT16_MAX : static_cast<uint16_t>(rows));
  return end + "PK\5\6" + half_word(0) + half_word(0) + few + few +
         word(wide ? UINT32_MAX : static_cast<uint32_t>(bytes)) +
         word(wide ? UINT32_MAX : static_cast<uint32_t>(offset)) +
         half_word(static_cast<uint16_t>(comment.size())) + comment;
}

std::string make_zip(const Members& members, bool deflated) {
  std::string zip, directory;
  for (const auto& [name, content] : members) {
    directory += zip_row(name, content, zip.size(), deflated);
    zip += zip_entry(name, content, deflated);
  }
  const std::string end = zip_end(members.size(), directory.size(), zip.size());
  return zip + directory + end;
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

std::string half_word(uint16_t value) {
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

uint64_t epoch_hash(std::shared_ptr<const Dataset> data) {
  LoaderOptions options;
  options.batch_size = 3;
  options.hash = true;
  options.transform.size = 32;
  Loader loader(std::move(data), options);
  loader.start_epoch(1);
  while (loader.next() != nullptr) {
  }
  return loader.stats().hash;
}

}  // namespace shoal::data
