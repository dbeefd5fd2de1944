#include "data/sources/split_folder.h"

#include <stdexcept>
#include <string_view>
#include <utility>

namespace shoal::data {
namespace {

// Returns the first folder of a name, with a slash at the end; empty if the name has no folder.
std::string_view first_folder(std::string_view name) {
  return name.substr(0, name.find('/') + 1);  // npos + 1 is 0
}

std::string top_folder(const std::vector<Scan>& scans) {
  for (const Scan& scan : scans)
    if (scan.size() > 0) return std::string(first_folder(scan.name(0)));
  return "";
}

// Returns the images whose name begins with `top` and the folder of `split`.
Scan inside(const Scan& scan, std::string_view top, const std::string& split) {
  Scan kept;
  kept.texts = scan.texts;
  kept.places = scan.places;
  kept.left_out = scan.left_out;
  for (size_t i = 0; i < scan.size(); ++i) {
    const std::string_view name = scan.name(i);
    if (!name.starts_with(top)) continue;
    const std::string_view folder = first_folder(name.substr(top.size()));
    if (folder == split + "/" || (split == "val" && folder == "validation/"))
      kept.add(scan.entries[i], name);
  }
  return kept;
}

}  // namespace

void keep_split(std::vector<Scan>& scans, const std::vector<SourceFile>& files,
                const std::string& split) {
  for (const std::string& top : {std::string(), top_folder(scans)}) {
    std::vector<Scan> kept;
    size_t images = 0;
    for (const Scan& scan : scans) images += kept.emplace_back(inside(scan, top, split)).size();
    if (images == 0) continue;
    scans = std::move(kept);
    return;
  }
  throw std::invalid_argument(files[0].path + " contains no folder " + split +
                              "/ with images; give the images of each split as a file of its own "
                              "(--train FILE --val FILE)");
}

}  // namespace shoal::data
