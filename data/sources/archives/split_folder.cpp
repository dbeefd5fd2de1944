#include "data/sources/archives/split_folder.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace shoal::data {
namespace {

// Returns the first folder of a name, with a slash at the end; empty if the name has no folder.
std::string_view first_folder(std::string_view name) {
  return name.substr(0, name.find('/') + 1);  // npos + 1 is 0
}

// Returns the top folder that all images share, ignoring images outside folders. Returns "" if
// there is no such folder, or if it is the folder of a split, such as train/.
std::string top_folder(const std::vector<Scan>& scans) {
  std::string_view top;
  for (const Scan& scan : scans) {
    for (size_t i = 0; i < scan.size(); ++i) {
      const std::string_view first = first_folder(scan.name(i));
      if (!first.empty() && !top.empty() && first != top) return "";
      if (!first.empty()) top = first;
    }
  }
  std::vector<std::string> splits = folder_names("val");
  splits.insert(splits.end(), {"train", "test"});
  const bool is_split = std::ranges::find(splits, top.substr(0, top.find('/'))) != splits.end();
  return is_split ? "" : std::string(top);
}

// Returns the images in `folder`.
Scan inside(const Scan& scan, std::string_view folder) {
  Scan kept;
  kept.texts = scan.texts;
  kept.places = scan.places;
  kept.left_out = scan.left_out;
  for (size_t i = 0; i < scan.size(); ++i)
    if (scan.name(i).starts_with(folder)) kept.add(scan.entries[i], scan.name(i));
  return kept;
}

// Returns the images of `split` in each file; empty if there are none.
std::vector<Scan> images_of(const std::vector<Scan>& scans, const std::string& split) {
  for (const std::string& top : {std::string(), top_folder(scans)}) {
    for (const std::string& name : folder_names(split)) {
      std::vector<Scan> kept;
      size_t images = 0;
      for (const Scan& scan : scans)
        images += kept.emplace_back(inside(scan, top + name + "/")).size();
      if (images > 0) return kept;
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> folder_names(const std::string& split) {
  if (split != "val") return {split};
  return {"val", "validation", "valid"};
}

void keep_split(std::vector<Scan>& scans, const std::vector<SourceFile>& files,
                const OpenOptions& options) {
  std::vector<Scan> kept = images_of(scans, options.split);
  if (!kept.empty()) {
    if (options.val_unused && options.warning && !images_of(scans, "val").empty())
      options.warning(files[0].path +
                      " also contains validation images. They are not used, because --val-split "
                      "holds out training images; to use them, train without --val-split, or give "
                      "them as a file of their own (--val FILE)");
    scans = std::move(kept);
    return;
  }
  throw std::invalid_argument(files[0].path + " contains no folder " + options.split +
                              "/ with images; give the images of each split as a file of its own "
                              "(--train FILE --val FILE)");
}

}  // namespace shoal::data
