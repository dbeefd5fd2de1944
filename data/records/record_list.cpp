#include "data/records/record_list.h"

#include <filesystem>
#include <map>
#include <stdexcept>

#include "base/file/folder.h"
#include "base/file/whole_file.h"
#include "base/text.h"
#include "data/file.h"

namespace shoal::data {

RecordList read_record_list(const std::string& records) {
  RecordList list;
  const std::string path = std::filesystem::path(records).replace_extension(".lst").string();
  if (path == records || !std::filesystem::exists(path)) return list;
  const FileStamp stamp = File(path).stamp();
  list.stamp = path;
  for (const int64_t part : {stamp.bytes, stamp.modified_ns, stamp.changed_ns})
    list.stamp += " " + std::to_string(part);
  std::map<std::string, std::string> folder_of, label_of;
  list.names_classes = true;
  int64_t number = 0;
  for (const std::string& line : read_lines(path)) {
    ++number;
    if (line.empty()) continue;
    const size_t first = line.find('\t'), last = line.rfind('\t');
    const auto id = parse_number<uint64_t>(line.substr(0, first));
    if (first == std::string::npos || first == last || !id)
      throw std::invalid_argument(path + " line " + std::to_string(number) +
                                  ": expected INDEX, LABEL and PATH, separated by tabs");
    const std::string label = line.substr(first + 1, last - first - 1);
    RecordList::Line& entry = list.by_id[*id];
    entry.path = line.substr(last + 1);
    const size_t slash = entry.path.find('/');
    if (slash != std::string::npos) entry.folder = entry.path.substr(0, slash);
    list.names_classes = list.names_classes && !entry.folder.empty() &&
                         folder_of.emplace(label, entry.folder).first->second == entry.folder &&
                         label_of.emplace(entry.folder, label).first->second == label;
  }
  return list;
}

bool belongs_to_record_io(const std::string& path) {
  return (path.ends_with(".lst") || path.ends_with(".idx")) &&
         path_exists(std::filesystem::path(path).replace_extension(".rec"));
}

}  // namespace shoal::data
