#pragma once
// Helpers for the tests of data/sources.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "tests/data/support.h"

namespace shoal::data {

using Members = std::vector<std::pair<std::string, std::string>>;  // name, content

// Returns a ustar file of these members, with an end mark of two blocks.
std::string make_tar(const Members& members);

// Returns one ustar header. `type` is the format's type flag.
std::string tar_header(const std::string& name, const std::string& size_field, char type = '0');

// These return parts of a zip: an entry, its row in the directory, and what follows the directory.
// `deflated`: whether the content is compressed. `wide`: whether numbers have 64 bits.
std::string zip_entry(const std::string& name, const std::string& content, bool deflated = false);
std::string zip_row(const std::string& name, const std::string& content, uint64_t offset,
                    bool deflated = false, bool wide = false);
std::string zip_end(uint64_t rows, uint64_t bytes, uint64_t offset, bool wide = false,
                    const std::string& comment = "");

// Returns a zip of these members.
std::string make_zip(const Members& members, bool deflated = false);

// Returns "LABEL CLASS NAME CONTENT" of each image. NAME is the part after the last slash or colon.
std::vector<std::string> described(const Dataset& data);

// Returns the hash of all batches of a training epoch.
uint64_t epoch_hash(std::shared_ptr<const Dataset> data);

// Opens a source and keeps its warnings.
struct Opened {
  explicit Opened(const std::string& source, OpenOptions options = {}) {
    options.warning = [this](const std::string& text) { warnings.push_back(text); };
    data = open_dataset(source, options);
  }
  std::vector<std::string> warnings;
  std::shared_ptr<const Dataset> data;
};

// Makes a file an hour old. The list of images in a file that changed recently is not cached.
void age_file(const std::string& path);

std::string content(const Dataset& data, int64_t sample);

// Returns a RecordIO record in one part.
std::string mxnet_record(const std::string& payload);
std::string word(uint32_t value);       // four bytes, little-endian
std::string half_word(uint16_t value);  // two bytes, little-endian
std::string jpeg_text(int64_t index);   // the bytes of made_jpeg(index)

// Return the path and the bytes of a file in tests/golden/records.
std::string golden_record(const std::string& name);
std::string golden_record_bytes(const std::string& name);

// Returns the message of the error that opening `source` throws; empty if there is none.
std::string message_of(const std::string& source, const OpenOptions& options = {});

}  // namespace shoal::data
