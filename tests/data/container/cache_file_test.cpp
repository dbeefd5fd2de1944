#include "data/container/cache_file.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>

#include "tests/support/files.h"
#include "tests/support/temporary_directory.h"

using namespace shoal;
namespace fs = std::filesystem;

TEST_CASE("writing a cache file removes its temporary files that killed writers left behind") {
  const test::TemporaryDirectory directory;
  const auto part = [&](const std::string& name) { return directory.path() / name; };
  const fs::path old = part(".a.listing.7-1f.part"), fresh = part(".a.listing.8-2f.part"),
                 other = part(".b.listing.7-1f.part");
  for (const auto& file : {old, fresh, other}) test::write_text(file, "half");
  for (const auto& file : {old, other})
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(2));
  data::write_cache((directory.path() / "a.listing").string(), "whole");
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(fresh));
  CHECK(fs::exists(other));
  CHECK(test::read_text(directory.path() / "a.listing") == "whole");
}
