#pragma once
// What the user names as a source of images: a path, a pattern, or KIND:….

#include <memory>
#include <optional>
#include <string>

#include "data/dataset.h"
#include "data/stream/stream.h"

namespace shoal::data {

struct Location {
  enum class Kind { path, folder, synthetic, pipe };
  Kind kind = Kind::path;
  std::string text;    // as named by the user, with KIND:
  bool exists = true;  // false: a path where nothing is; other kinds are checked when opened
  bool is_pipe() const { return kind == Kind::pipe; }
};

// Finds out the kind of `text`. Reads no file.
Location resolve(const std::string& text);

// The first place in `folder` that holds one split, "train" or "val": a folder or a file of that
// name, or files whose names begin with it. Returns nothing if there is none.
std::optional<Location> find_split(const std::string& folder, const std::string& split);
// The places where find_split() looks, for messages: "val/, val.pack, … or val-*".
std::string split_places(const std::string& split);

// Opens any kind but a pipe; see dataset.h for what it throws.
std::shared_ptr<const Dataset> open_dataset(const Location& location,
                                            const OpenOptions& options = {});

// Opens "pipe:PATH" (stream/pipes.h). Throws std::invalid_argument for another kind, and if
// options.classes is empty.
std::shared_ptr<const Stream> open_stream(const std::string& text, const OpenOptions& options);

// Whether any file of the location holds TFRecords. Reads the beginning of each file.
bool holds_tf_records(const Location& location);

}  // namespace shoal::data
