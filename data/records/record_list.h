#pragma once
// Reads NAME.lst beside NAME.rec, as written by MXNet's im2rec. It lists the image file from which
// each record was made.

#include <cstdint>
#include <string>
#include <unordered_map>

namespace shoal::data {

struct RecordList {
  struct Line {
    std::string path, folder;  // folder: the first folder of the path; may be empty
  };
  std::unordered_map<uint64_t, Line> by_id;
  bool names_classes = false;  // each line has a folder; labels and folders correspond one to one

  std::string stamp;  // changes when the file changes
};

// Reads the list beside the file `records`; returns an empty list if there is none. Lines consist
// of INDEX, LABEL and PATH, separated by tabs; empty lines are ignored. Throws
// std::invalid_argument for any other line.
RecordList read_record_list(const std::string& records);

// Whether `path` is the list or the index (.idx) of a RecordIO file in the same folder.
bool belongs_to_record_io(const std::string& path);

}  // namespace shoal::data
