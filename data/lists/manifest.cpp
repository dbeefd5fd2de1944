#include "data/lists/manifest.h"

#include <array>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "base/file/whole_file.h"
#include "base/json.h"
#include "data/container/catalogue.h"
#include "data/container/image_extensions.h"
#include "data/container/image_files.h"
#include "data/container/label_text.h"
#include "data/container/scan_files.h"
#include "data/labels/file_list.h"
#include "data/lists/list_file.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kMetadata = "-metadata";

// Converts the places that a manifest names to paths on this machine.
class LocalPlaces {
 public:
  explicit LocalPlaces(const std::string& manifest)
      : manifest_(manifest), prefix_(folder_of_list(manifest)) {}

  std::string path_of(const std::string& place) {
    if (place.starts_with(kFileUrl)) return place.substr(kFileUrl.size());
    if (place.starts_with('/')) return place;
    std::string_view rest = place;
    if (const size_t scheme = rest.find("://"); scheme != std::string_view::npos)
      rest.remove_prefix(std::min(rest.find('/', scheme + 3), rest.size() - 1) + 1);
    rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
    if (!dropped_) dropped_ = fitting(rest, place);
    for (size_t i = 0; i < *dropped_ && rest.find('/') != std::string_view::npos; ++i)
      rest.remove_prefix(rest.find('/') + 1);
    return prefix_ + std::string(rest);
  }

 private:
  // Returns how many leading folders of `rest` must be dropped to find the file below prefix_.
  size_t fitting(std::string_view rest, const std::string& place) const {
    std::error_code error;  // ignored: if a path cannot be examined, it counts as not found
    for (size_t count = 0;; ++count) {
      if (!rest.empty() && fs::is_regular_file(prefix_ + std::string(rest), error)) return count;
      const size_t slash = rest.find('/');
      if (slash == std::string_view::npos) break;
      rest.remove_prefix(slash + 1);
    }
    throw std::invalid_argument(manifest_ + " names " + place + ", which is not in " +
                                parent_folder(manifest_).string() +
                                "; put the images beside the manifest");
  }

  const std::string manifest_, prefix_;  // prefix_: folder_of_list(manifest_)
  std::optional<size_t> dropped_;  // number of leading folders to drop; set by the first image
};

class ManifestScan {
 public:
  ManifestScan(const std::string& path, std::string text, bool unlabeled)
      : path_(path), text_(std::move(text)), places_(path), unlabeled_(unlabeled) {}

  Scan run() {
    if (text_[text_.find_first_not_of(" \t\r\n")] == '[') {
      plain();
    } else {
      augmented();
    }
    if (scan_.size() == 0) throw std::invalid_argument(path_ + " names no image");
    return std::move(scan_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw std::invalid_argument(path_ + " " + (lines_ ? "line " : "entry ") +
                                std::to_string(number_) + ": " + what);
  }

  [[noreturn]] void refuse_place(const std::string& name) const {
    refuse("'" + name + "' is in no class folder; use an augmented manifest");
  }

  void plain() {
    const json all = parse_json(text_);
    if (!all.is_array()) throw std::invalid_argument(path_ + " is not a manifest: it is not JSON");
    std::string prefix;
    for (const json& entry : all) {
      ++number_;
      const auto found = entry.is_object() ? entry.find("prefix") : entry.end();
      if (number_ == 1 && entry.is_object() && found != entry.end() && found->is_string()) {
        prefix = found->get<std::string>();
        continue;
      }
      if (!entry.is_string()) refuse("expected the name of an image");
      std::string name = entry.get<std::string>();
      const std::string place = prefix + name;
      name.erase(0, name.find_first_not_of('/'));  // the prefix may lack a slash at its end
      const size_t slash = name.find('/');
      const bool in_folder = slash != std::string::npos || unlabeled_;
      if (!in_folder && has_image_extension(name)) refuse_place(name);
      const std::string path = places_.path_of(place);
      if (!keep(path)) continue;
      if (!in_folder) refuse_place(name);
      ScanEntry image;
      if (!unlabeled_) image.text = scan_.place_of(name.substr(0, slash));
      scan_.add(image, path);
    }
  }

  void augmented() {
    lines_ = true;
    for (size_t begin = 0; begin < text_.size();) {
      const size_t end = std::min(text_.find('\n', begin), text_.size());
      const std::string_view line = std::string_view(text_).substr(begin, end - begin);
      begin = end + 1;
      ++number_;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      const json entry = parse_json(line);
      if (!entry.is_object()) refuse("expected a JSON object");
      const auto place = entry.find("source-ref");
      if (place == entry.end() || !place->is_string()) refuse("there is no source-ref");
      const std::string path = places_.path_of(place->get<std::string>());
      if (!keep(path)) continue;
      ScanEntry image;
      if (!unlabeled_) label(entry, image);
      scan_.add(image, path);
    }
  }

  // Whether the file is an image; otherwise records that it is left out.
  bool keep(const std::string& path) {
    const bool is_folder = path.empty() || path.ends_with('/');  // S3 has objects with such names
    if (!is_folder && is_image_file(path)) return true;
    scan_.left_out.add(path);
    return false;
  }

  // Finds the attribute of `entry` that is a label, and sets the image's label. If the attribute's
  // metadata has a class-name, also sets the name of the class. Throws std::invalid_argument unless
  // exactly one attribute is a label.
  void label(const json& entry, ScanEntry& image) {
    std::string names;
    int count = 0;
    std::optional<LabelText> found;
    for (const auto& [key, value] : entry.items()) {
      if (key == "source-ref" || key.ends_with(kMetadata)) continue;
      const auto text = parse_json_label(value.dump());
      if (!text || value.is_object()) continue;
      names += (count++ == 0 ? "" : ", ") + key;
      found = text;
      const auto metadata = entry.find(key + std::string(kMetadata));
      if (metadata == entry.end() || !metadata->is_object()) continue;
      const auto name = metadata->find("class-name");
      if (name != metadata->end() && name->is_string())
        image.text = scan_.place_of(name->get<std::string>());
    }
    if (!found) refuse("there is no label: a number >= 0 or the name of a class");
    if (count > 1) refuse("there are several labels (" + names + "); keep only one");
    set_label(*found, scan_, image);
  }

  const std::string& path_;
  std::string text_;
  LocalPlaces places_;
  const bool unlabeled_;
  Scan scan_;
  int64_t number_ = 0;
  bool lines_ = false;
};

}  // namespace

bool is_manifest(const File& file) {
  std::array<char, 64> head{};
  const int64_t count = file.read_at(0, head.data(), static_cast<int64_t>(head.size()));
  const std::string_view text(head.data(), static_cast<size_t>(count));
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '[' || text[first] == '{');
}

std::shared_ptr<const Dataset> open_manifest(const std::vector<std::string>& paths,
                                             const OpenOptions& options) {
  if (!options.labels.empty()) refuse_labels(paths[0]);
  std::vector<Scan> scans;
  for (const std::string& path : paths) {
    scans.push_back(ManifestScan(path, read_list(path), options.unlabeled).run());
  }
  Catalogue catalogue = options.unlabeled
                            ? catalogue_unlabeled(scans)
                            : catalogue_by_label(stamped(paths), scans, options.classes);
  std::vector<ListedImage> images;
  for (size_t i = 0; i < catalogue.images.size(); ++i)
    images.push_back(
        {std::string(catalogue.name(static_cast<int64_t>(i))), catalogue.images[i].label});
  LeftOut left_out;
  for (const Scan& scan : scans) left_out.add(scan.left_out);
  if (options.warning && !left_out.empty()) options.warning(left_out.sentence(paths[0]));
  return std::make_shared<FileListDataset>(std::move(images), std::move(catalogue.classes),
                                           folder_of_list(paths[0]));
}

}  // namespace shoal::data
