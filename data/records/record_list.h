#pragma once
// NAME.lst beside NAME.rec: which file each record was made from, as MXNet's im2rec writes it.

#include <cstdint>
#include <string>
#include <unordered_map>

namespace shoal::data {

struct RecordList {
  struct Line {
    std::string path, folder;  // folder: the first part of the path; empty: it has none
  };
  std::unordered_map<uint64_t, Line> by_id;
  bool names_classes = false;  // each label stands for one folder and each folder for one label

  std::string stamp;  // changes with the file
};

// The list beside `records`; without lines when there is none. Lines are INDEX, LABEL, PATH with
// tabs between. Throws std::invalid_argument for a line that is not.
RecordList read_record_list(const std::string& records);

}  // namespace shoal::data
