#pragma once
// Helpers for the tests of CheckpointStore.

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/program.h"
#include "train/checkpoint/checkpoint_store.h"

namespace shoal::test {

using Names = std::vector<std::string>;

inline constexpr const char* kFirst = "epoch-0000-step-00000001";
inline constexpr const char* kSecond = "epoch-0000-step-00000002";

inline Names in_folder(const std::filesystem::path& folder) {
  Names names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

// Produces `text` in two pieces, for CheckpointStore::save().
inline auto bytes_of(const std::string& text) {
  return [text](const train::CheckpointStore::Sink& sink) {
    sink(text.data(), text.size() / 2);
    sink(text.data() + text.size() / 2, text.size() - text.size() / 2);
  };
}

inline std::string text_of(const std::vector<char>& bytes) {
  return {bytes.begin(), bytes.end()};
}

inline void no_warning(const std::string& text) {
  FAIL(text);
}

}  // namespace shoal::test
