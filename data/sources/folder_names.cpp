#include "data/sources/folder_names.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/format/counted.h"
#include "data/container/scan_files.h"
#include "data/labels/labels.h"

namespace shoal::data {
namespace {

std::string_view without_tar(std::string_view name) {
  return name.ends_with(".tar") ? name.substr(0, name.size() - 4) : name;
}

// An image and the parts of its name.
struct NamedImage {
  std::string_view class_name, folder, file_name;
  Placed placed;
};

class FolderCatalogue {
 public:
  FolderCatalogue(const std::vector<SourceFile>& files, const std::vector<Scan>& scans,
                  const OpenOptions& options)
      : files_(files), scans_(scans), options_(options) {}

  Catalogue run() {
    survey();
    if (flat_ == 0) {
      if (!options_.labels.empty()) refuse_labels(files_[0].path);
      while (shares_top_folder()) top_ += next_ + '/';
      collect([this](uint32_t, std::string_view name) {
        return without_tar(name.substr(top_.size(), name.find('/', top_.size()) - top_.size()));
      });
    } else if (!options_.labels.empty()) {
      labels_from_file();
    } else if (files_.size() == 1 || labels_beside()) {
      refuse_unlabeled();
    } else {
      check_class_archives();
      for (const SourceFile& file : files_)
        stems_.push_back(std::filesystem::path(file.path).stem().string());
      collect([this](uint32_t file, std::string_view) { return std::string_view(stems_[file]); });
    }
    return sorted();
  }

 private:
  void survey() {
    flat_of_file_.resize(scans_.size());
    for (uint32_t file = 0; file < scans_.size(); ++file)
      for (size_t i = 0; i < scans_[file].size(); ++i)
        if (is_loose(scans_[file].name(i))) ++flat_of_file_[file];
    for (const int64_t count : flat_of_file_) flat_ += count;
  }

  // Whether the left-out files look like labels of WebDataset samples. Only the names in
  // LeftOut::examples are known, at most three per archive. One of them must be a .cls file, or all
  // must be .json or .txt files and there must be at least as many left-out files as images.
  bool labels_beside() const {
    int64_t files = 0;
    bool cls = false, others = true;
    for (const Scan& scan : scans_) {
      files += scan.left_out.files;
      for (const std::string& name : scan.left_out.examples) {
        cls |= name.ends_with(".cls");
        others &= name.ends_with(".json") || name.ends_with(".txt");
      }
    }
    return cls || (others && files >= static_cast<int64_t>(total()));
  }

  [[noreturn]] void refuse_unlabeled() const {
    if (flat_ == static_cast<int64_t>(total()))
      throw std::invalid_argument(
          files_[0].path +
          " has images without classes; give a file with their classes (--val-labels FILE), or "
          "put them into class folders" +
          (labels_beside() ? ". In a tar of WebDataset, an image and its label follow each other "
                             "and have the same name before the first dot; the image is a jpg, "
                             "jpeg, png or webp file"
                           : ""));
    const auto flat = std::ranges::find_if(flat_of_file_, [](int64_t count) { return count > 0; });
    const auto file = static_cast<uint32_t>(flat - flat_of_file_.begin());
    throw std::invalid_argument(files_[file].path + " has " + first_flat(file) +
                                " outside of any class folder");
  }

  std::string first_flat(uint32_t file) const {
    for (size_t i = 0; i < scans_[file].size(); ++i)
      if (is_loose(scans_[file].name(i))) return std::string(scans_[file].name(i));
    return "an image";
  }

  // Checks that every archive has images that are not in folders. Each archive is then a class.
  void check_class_archives() const {
    for (uint32_t file = 0; file < scans_.size(); ++file) {
      if (scans_[file].size() == 0)
        throw std::invalid_argument("the class " + files_[file].path +
                                    " has no image; add some or remove it");
      if (flat_of_file_[file] > 0) continue;
      throw std::invalid_argument(files_[file].path +
                                  " has class folders, but another file beside it has images "
                                  "without folders; separate them");
    }
  }

  // Whether an image is beside the class folders, not in one.
  bool is_loose(std::string_view name) const {
    return !name.starts_with(top_) || name.find('/', top_.size()) == std::string_view::npos;
  }

  // Sets next_ to the first folder in top_. Returns true if next_ is the only folder in top_ and is
  // not a class folder, but contains the class folders: all images of next_ are in subfolders, or
  // most are and options_.classes does not contain next_.
  bool shares_top_folder() {
    next_.clear();
    int64_t loose = 0, deeper = 0;
    for (const Scan& scan : scans_) {
      for (size_t i = 0; i < scan.size(); ++i) {
        if (is_loose(scan.name(i))) continue;
        const std::string_view rest = scan.name(i).substr(top_.size());
        const size_t slash = rest.find('/');
        const std::string_view next = rest.substr(0, slash);
        if (next_.empty()) next_ = next;
        if (next != next_ || next.ends_with(".tar")) return false;
        ++(rest.find('/', slash + 1) == std::string_view::npos ? loose : deeper);
      }
    }
    const bool is_class = std::ranges::find(options_.classes, next_) != options_.classes.end();
    return loose == 0 ? deeper > 0 : deeper > loose && !is_class;
  }

  template <class ClassOf>
  void collect(const ClassOf& class_of) {
    LeftOut loose;
    for (uint32_t file = 0; file < scans_.size(); ++file) {
      for (uint32_t i = 0; i < scans_[file].size(); ++i) {
        const std::string_view name = scans_[file].name(i);
        if (!top_.empty() && is_loose(name)) {
          loose.add_loose(name);
          continue;
        }
        const size_t slash = name.rfind('/');
        const std::string_view folder =
            slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
        parts_.push_back({class_of(file, name), folder, name.substr(slash + 1), {file, i, 0}});
      }
    }
    if (options_.warning && !loose.empty()) options_.warning(loose.sentence(files_[0].path));
  }

  void labels_from_file() {
    if (flat_ < static_cast<int64_t>(total())) refuse_labels(files_[0].path);
    const LabelFile labels(options_.labels, options_.synsets, options_.classes);
    label_names_ = labels.classes();
    collect([&](uint32_t, std::string_view name) {
      return std::string_view(label_names_[labels.class_of(std::string(name))]);
    });
  }

  size_t total() const {
    size_t count = 0;
    for (const Scan& scan : scans_) count += scan.size();
    return count;
  }

  // Returns the class list. With a label file: the classes of the training set or, if they are not
  // known, those in the file. Otherwise: the class names of the images; parts_ must be sorted.
  std::vector<std::string> classes() const {
    if (!label_names_.empty()) return options_.classes.empty() ? label_names_ : options_.classes;
    std::vector<std::string> names;
    for (const NamedImage& part : parts_)
      if (names.empty() || names.back() != part.class_name) names.emplace_back(part.class_name);
    return names;
  }

  Catalogue sorted() {
    std::sort(parts_.begin(), parts_.end(), [](const NamedImage& a, const NamedImage& b) {
      return std::tie(a.class_name, a.folder, a.file_name, a.placed.file, a.placed.entry) <
             std::tie(b.class_name, b.folder, b.file_name, b.placed.file, b.placed.entry);
    });
    // If several images have the same name, keeps the last one, as unpacking would.
    const auto same = [](const NamedImage& a, const NamedImage& b) {
      return std::tie(a.class_name, a.folder, a.file_name) ==
             std::tie(b.class_name, b.folder, b.file_name);
    };
    warn_of_equal_names(same);
    parts_.erase(parts_.begin(), std::unique(parts_.rbegin(), parts_.rend(), same).base());
    std::vector<std::string> names = classes();
    std::map<std::string_view, int32_t> labels;
    for (size_t i = 0; i < names.size(); ++i) labels[names[i]] = static_cast<int32_t>(i);
    std::vector<Placed> placed;
    for (NamedImage& part : parts_) {
      const auto found = labels.find(part.class_name);
      if (found == labels.end())
        throw std::invalid_argument(options_.labels + " gives " + std::string(part.file_name) +
                                    " the class '" + std::string(part.class_name) +
                                    "', which the training set does not have");
      part.placed.label = found->second;
      placed.push_back(part.placed);
    }
    return make_catalogue(scans_, placed, std::move(names));
  }

  // Warns if images of different files have the same name. `same` compares two NamedImages; parts_
  // must be sorted.
  template <class Same>
  void warn_of_equal_names(const Same& same) const {
    int64_t count = 0;
    const NamedImage* first = nullptr;
    for (size_t i = 0; i + 1 < parts_.size(); ++i) {
      const NamedImage &a = parts_[i], &b = parts_[i + 1];
      if (!same(a, b) || a.placed.file == b.placed.file) continue;
      if (count++ == 0) first = &a;
    }
    if (count > 0 && options_.warning)
      options_.warning(files_[first->placed.file].path + ": left out " + counted(count, "image") +
                       " because a later file has an image of the same name, such as " +
                       std::string(first->class_name) + "/" + std::string(first->file_name));
  }

  const std::vector<SourceFile>& files_;
  const std::vector<Scan>& scans_;
  const OpenOptions& options_;
  std::vector<int64_t> flat_of_file_;  // number of images outside of any folder, per file
  int64_t flat_ = 0;                   // sum of flat_of_file_
  std::string top_;                    // folders above the class folders, with a slash at the end
  std::string next_;                   // the first folder in top_, set by shares_top_folder()
  std::vector<std::string> stems_, label_names_;
  std::vector<NamedImage> parts_;
};

}  // namespace

Catalogue catalogue_by_folder(const std::vector<SourceFile>& files, const std::vector<Scan>& scans,
                              const OpenOptions& options) {
  return FolderCatalogue(files, scans, options).run();
}

}  // namespace shoal::data
