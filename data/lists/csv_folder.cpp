#include "data/lists/csv_folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/sorted_order.h"
#include "base/text.h"
#include "data/container/image_extensions.h"
#include "data/container/image_files.h"
#include "data/folder/listing.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// Finds files by name. Names must be asked for in ascending order, so that each search begins where
// the last one ended.
class FileSearch {
 public:
  explicit FileSearch(const Names& files) : at_(files.begin()), end_(files.end()) {}

  // Returns the file `name`. If it does not exist, returns the images called `name` plus an
  // extension.
  std::vector<std::string_view> called(std::string_view name) {
    at_ = first_from(at_, name);
    if (at_ != end_ && *at_ == name) return {name};
    std::vector<std::string_view> found;
    if (has_image_extension(name)) return found;
    const std::string start = std::string(name) + ".";
    for (auto at = first_from(at_, start); at != end_ && at->starts_with(start); ++at)
      if (at->rfind('.') == name.size() && has_image_extension(*at)) found.emplace_back(*at);
    return found;
  }

 private:
  using Place = Names::const_iterator;
  // Returns the first file from `at` on that is not less than `text`. Fast if it is near `at`.
  Place first_from(Place at, std::string_view text) const {
    for (ptrdiff_t step = 1; at != end_ && *at < text; step *= 2) {
      const Place ahead = at + std::min(step, end_ - at);
      if (ahead == end_ || *ahead >= text) return std::lower_bound(at, ahead, text);
      at = ahead;
    }
    return at;
  }

  Place at_;
  const Place end_;
};

// Sorts the rows by the field `text`; rows with equal texts keep their order.
void sort_rows(std::vector<ListedRow>& rows, std::string_view ListedRow::*text) {
  std::vector<std::string_view> texts(rows.size());
  std::ranges::transform(rows, texts.begin(), text);
  std::vector<ListedRow> sorted;
  sorted.reserve(rows.size());
  for (const size_t i : sorted_order(texts)) sorted.push_back(rows[i]);
  rows = std::move(sorted);
}

}  // namespace

std::string ListFolder::path_of(const ListedRow& row) const {
  std::string path;
  path.reserve(prefix.size() + row.file.size());
  return path.append(prefix).append(row.file);
}

std::string plain_folder(const std::string& text) {
  std::string plain;
  for (const std::string& part : split(text, '/'))
    if (!part.empty() && part != ".") plain += (plain.empty() ? "" : "/") + part;
  return (text.starts_with('/') ? "/" : "") + plain;
}

void find_files(ListFolder& folder, const CsvReader& reader) {
  const std::string path = folder.prefix.empty() ? "." : folder.prefix;
  std::error_code error;  // ignored: a folder that cannot be examined has no files
  folder.files = fs::is_directory(path, error) ? file_names(path) : Names();
  std::vector<ListedRow>& rows = folder.rows;
  sort_rows(rows, &ListedRow::name);
  FileSearch search(folder.files);
  for (ListedRow& row : rows) {
    const auto found = search.called(row.name);
    if (found.size() > 1)
      reader.refuse(row.line, std::string(row.name) + " may be " + folder.prefix +
                                  std::string(found[0]) + " or " + folder.prefix +
                                  std::string(found[1]) + "; add the extension");
    if (found.empty()) continue;
    row.file = found[0];
    row.is_image = has_image_extension(row.file) || is_image_file(folder.path_of(row));
  }
  sort_rows(rows, &ListedRow::file);
  for (auto first = rows.begin(); first != rows.end();) {
    const auto last = std::find_if(first, rows.end(),
                                   [&](const ListedRow& row) { return row.file != first->file; });
    std::ranges::sort(first, last, {}, &ListedRow::line);
    first = last;
  }
}

std::string missing_error(const std::string& folder, const std::string& prefix,
                          std::string_view name) {
  std::string place = (folder + "/").append(name);
  // A single letter before the colon is a drive of Windows.
  if (const size_t scheme = place.find(":/"); scheme > 1 && scheme < place.find('/'))
    return "the image " + place.replace(scheme, 2, "://") +
           " is a URL; shoal reads only files, so download the images and list their paths";
  const std::string path = prefix + std::string(name);
  return "the image " + path + " does not exist" +
         (!is_utf8(path) ? ", and its path is not UTF-8; convert the list, for example with iconv"
          : path.find('\\') != path.npos ? "; write / instead of \\ in paths"
                                         : "; paths are relative to the folder of the list");
}

}  // namespace shoal::data
