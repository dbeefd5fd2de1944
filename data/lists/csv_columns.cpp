#include "data/lists/csv_columns.h"

#include <algorithm>
#include <span>

#include "base/nearest.h"
#include "base/text.h"
#include "data/dataset.h"

namespace shoal::data {
namespace {

using Names = std::vector<std::string>;

constexpr std::string_view kImageColumns[] = {"path",     "file",  "filename",   "file_name",
                                              "filepath", "image", "image_path", "image_id",
                                              "img",      "name",  "id"};
constexpr std::string_view kClassColumns[] = {"class",    "label",  "label_name",
                                              "category", "target", "y"};
constexpr std::string_view kSplitColumns[] = {"split", "set", "fold", "subset"};
constexpr size_t kMaxSplits = 10;  // a column with more values does not name splits

// Returns the first column that has one of these names.
std::optional<size_t> find_column(const Names& header, std::span<const std::string_view> names) {
  for (const std::string_view name : names)
    if (const auto at = std::ranges::find(header, name); at != header.end())
      return static_cast<size_t>(at - header.begin());
  return std::nullopt;
}

// Returns advice to rename a column whose name is similar to an accepted one; "" if there is none.
std::string rename_advice(const Names& header, std::span<const std::string_view> names) {
  for (const std::string& name : header)
    if (const std::string similar = nearest(name, {names.begin(), names.end()}); !similar.empty())
      return "; did you mean '" + similar + "' by '" + name + "'?";
  return "";
}

// Like find_column(), but throws if no column fits. `content`: what the column contains.
size_t needed_column(const CsvReader& reader, const Names& header,
                     std::span<const std::string_view> names, const std::string& content) {
  if (const auto column = find_column(header, names)) return *column;
  const auto& found = reader.fields();
  reader.refuse(reader.line(), "the first line must be a header, but none of its columns (" +
                                   quoted_names({found.begin(), found.end()}) + ") is the " +
                                   content + ". Call it " +
                                   joined({names.begin(), names.end() - 1}) + " or " +
                                   std::string(names.back()) + rename_advice(header, names));
}

}  // namespace

CsvColumns csv_columns(const CsvReader& reader, bool unlabeled) {
  Names header;
  for (const std::string_view name : reader.fields()) header.push_back(lower(std::string(name)));
  CsvColumns columns;
  columns.image = needed_column(reader, header, kImageColumns, "image");
  columns.label = unlabeled ? columns.image : needed_column(reader, header, kClassColumns, "class");
  columns.split = find_column(header, kSplitColumns);
  return columns;
}

void SplitValues::add(std::string_view value) {
  if (values_.size() <= kMaxSplits && std::ranges::find(values_, value) == values_.end())
    values_.push_back(value);
}

std::string SplitValues::column(const std::string& name) const {
  if (values_.size() < 2 || values_.size() > kMaxSplits) return "";
  return "the column '" + name + "' (" + quoted_names({values_.begin(), values_.end()}) + ")";
}

}  // namespace shoal::data
