#include "app/report/json_lines.h"

#include <cerrno>
#include <fstream>

#include "base/file/descriptor.h"
#include "base/file/json_lines.h"
#include "base/format/counted.h"
#include "base/text.h"
#include "train/report/utc_time.h"

namespace shoal::app {

std::vector<std::string> read_rows(const std::filesystem::path& path,
                                   const std::function<void(const nlohmann::json&)>& take) {
  std::vector<std::string> notes;
  std::ifstream file(path);
  if (!file.is_open()) {
    if (errno == ENOENT) return notes;
    throw_file_error("read", path);
  }
  const std::string name = path.filename().string();
  const LeftOutLines left_out = read_json_lines(file, take);
  if (left_out.torn) notes.push_back(name + ": the last line is incomplete and was left out");
  if (left_out.damaged > 0)
    notes.push_back(name + ": " + counted(left_out.damaged, "damaged line") + " left out");
  return notes;
}

double number_or_missing(const nlohmann::json& row, const char* name) {
  return number_in(row, name).value_or(kMissing);
}

void flatten(const std::string& prefix, const nlohmann::json& value,
             std::vector<std::pair<std::string, double>>& to) {
  if (value.is_number()) to.emplace_back(prefix, value.get<double>());
  if (!value.is_structured()) return;
  const std::string stem = prefix.empty() ? "" : prefix + ".";
  size_t index = 0;
  for (const auto& item : value.items())
    flatten(stem + (value.is_array() ? std::to_string(index++) : item.key()), item.value(), to);
}

double time_of(const nlohmann::json& row) {
  return train::parse_utc_time(text_in(row, "time")).value_or(kMissing);
}

}  // namespace shoal::app
