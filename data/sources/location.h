#pragma once
// Parses and opens the sources of images that the user names: a path, a pattern, a list in a CSV
// file, or a text that begins with "folder:", "synthetic:" or "pipe:".

#include <memory>
#include <optional>
#include <string>

#include "data/dataset.h"
#include "data/stream/stream.h"

namespace shoal::data {

struct Location {
  enum class Kind {
    // A path. Its content decides how it is read: class folders, a packed set, a file of records
    // (open.h), or a folder or pattern of such files.
    path,
    folder,     // "folder:DIR": class folders
    synthetic,  // "synthetic:IMAGES[:CLASSES[:WIDTHxHEIGHT]]"
    pipe,       // "pipe:PATH" (pipes.h)
    csv_list,   // the path of a list of images (csv_list.h)
  };
  Kind kind = Kind::path;
  std::string text;        // as named by the user, including a prefix such as "folder:"
  bool exists = true;      // false if a path does not exist; other kinds are checked when opened
  std::string split = {};  // only images in this split's folder of a tar or zip; empty: all
  bool is_pipe() const { return kind == Kind::pipe; }
};

// Determines the kind of `text` and whether a path exists. Opens no file.
Location resolve(const std::string& text);

// Searches `folder` for the split "train" or "val": a folder of this name, a file such as
// train.pack or train.tar, ImageNet's original tar, files such as val-*, a list such as train.csv,
// or the files of CIFAR. Returns the first match; nothing if there is none. If `folder` is a tar or
// zip, returns it without looking for the split in it.
std::optional<Location> find_split(const std::string& folder, const std::string& split);
// Returns the places where find_split() looks, for messages: "train/, train.pack, … or train.bin".
std::string split_places(const std::string& split);

// Opens any kind except a pipe. Throws like open_dataset() in dataset.h.
std::shared_ptr<const Dataset> open_dataset(const Location& location,
                                            const OpenOptions& options = {});

// Opens the pipes that the text "pipe:PATH" names (sources/pipes.h). Throws std::invalid_argument
// for any other text, and if options.classes is empty.
std::shared_ptr<const Stream> open_stream(const std::string& text, const OpenOptions& options);

// Whether any file of the location begins with a TFRecord. Reads the beginning of each file.
bool holds_tf_records(const Location& location);

}  // namespace shoal::data
