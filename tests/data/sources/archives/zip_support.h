#pragma once
// Helpers for the tests of zips.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "data/errors.h"
#include "tests/data/sources/support.h"

namespace shoal::data {

// Returns the message of the error that opening a zip of these bytes throws.
inline std::string message_of_zip(const std::string& bytes) {
  const TempFolder t;
  t.write("a.zip", bytes);
  const std::string message = message_of(t / "a.zip");
  CHECK_THAT(message, Catch::Contains(t / "a.zip"));
  return message;
}

// Returns the reason why an image of a zip cannot be read; empty if it can be read.
inline std::string damage_of(const Dataset& data, int64_t sample) {
  Bytes bytes;
  try {
    data.read(sample, bytes);
  } catch (const DamagedImage& damage) {
    return damage.what();
  }
  return "";
}

// Returns damage_of() for each image of a zip of these bytes.
inline std::vector<std::string> damages_of_zip(const std::string& bytes) {
  const TempFolder t;
  t.write("a.zip", bytes);
  const auto data = open_dataset(t / "a.zip");
  std::vector<std::string> reasons;
  for (int64_t i = 0; i < data->size(); ++i) reasons.push_back(damage_of(*data, i));
  return reasons;
}

// Returns the offset of an entry's row in the directory.
inline size_t zip_row_of(const std::string& zip, const std::string& name) {
  const size_t at = zip.rfind(name);
  REQUIRE(at != std::string::npos);
  return zip.rfind("PK\1\2", at);
}

// Returns `zip` with an entry's row overwritten by `bytes`, `offset` bytes after the row's start.
inline std::string with_zip_row(std::string zip, const std::string& name, size_t offset,
                                const std::string& bytes) {
  return zip.replace(zip_row_of(zip, name) + offset, bytes.size(), bytes);
}

// Offsets in a row.
namespace zip_row_field {
constexpr size_t kHost = 5, kFlags = 8, kMethod = 10, kCrc = 16, kPackedSize = 20, kSize = 24,
                 kOffset = 42;
}

// Classes cat and dog with one image each.
inline std::string two_images_zip(bool deflated = false) {
  return make_zip({{"cat/1.jpg", std::string(1000, 'a')}, {"dog/2.jpg", std::string(1000, 'b')}},
                  deflated);
}

}  // namespace shoal::data
