#pragma once
// Finds the image files that a CSV list (csv_list.h) names, one folder at a time.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/format/csv_reader.h"

namespace shoal::data {

struct ListedRow {
  std::string_view name;  // the image's name in the list, without the folder
  std::string_view file;  // name of the file in the folder; empty if it does not exist
  int64_t line = 0;
  int32_t label = 0;      // index of the class
  bool is_image = false;  // whether `file` is an image by name or content
};

struct ListFolder {
  std::string prefix;              // the folder's path: empty, or ends with a slash
  std::vector<std::string> files;  // names of the files in the folder, sorted
  std::vector<ListedRow> rows;

  std::string path_of(const ListedRow& row) const;  // the path of the row's file
};

// Removes empty and "." parts from a folder's path in the list. Returns "" for the list's folder.
std::string plain_folder(const std::string& text);

// Sets folder.files and each row's `file` and `is_image`, and sorts the rows by file and line. A
// name without an extension, such as 0f3a, also finds an image such as 0f3a.jpg. Throws
// std::invalid_argument, by reader.refuse(), if a name finds several images. Lists the folder
// instead of calling stat() for each file: network file systems list thousands of files in the time
// of a few stat() calls.
void find_files(ListFolder& folder, const CsvReader& reader);

// Returns the message that the image `name` does not exist, and why. `folder`: plain_folder() of
// the image's folder in the list; `prefix`: ListFolder::prefix.
std::string missing_error(const std::string& folder, const std::string& prefix,
                          std::string_view name);

}  // namespace shoal::data
