#include "data/lists/csv_list.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/format/counted.h"
#include "base/format/csv_reader.h"
#include "base/parallel.h"
#include "base/text.h"
#include "data/container/image_files.h"
#include "data/container/scan_files.h"
#include "data/labels/file_list.h"
#include "data/lists/csv_columns.h"
#include "data/lists/csv_folder.h"
#include "data/lists/list_file.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// Sorts the names: by value if all are numbers.
void sort_classes(Names& names) {
  std::sort(names.begin(), names.end());
  const auto value = [](const std::string& name) { return parse_number<double>(name); };
  if (std::ranges::all_of(names, [&](const std::string& name) {
        return value(name) && std::isfinite(*value(name));
      }))
    std::ranges::stable_sort(names, {}, value);
}

class CsvList {
 public:
  CsvList(const std::string& path, std::string& text, const OpenOptions& options)
      : path_(path), prefix_(folder_of_list(path)), reader_(path, text), options_(options) {}

  std::shared_ptr<const Dataset> open() {
    read_rows();
    find_images();
    check_all_exist();
    const std::vector<Listed> images = different_images();
    if (images.empty()) throw std::invalid_argument(path_ + " names no image");
    if (options_.progress) options_.progress(std::ssize(images));
    return dataset(images);
  }

 private:
  struct Listed {
    const ListFolder* folder;
    const ListedRow* row;
  };

  void warn(const std::string& text) const {
    if (options_.warning) options_.warning(path_ + ": " + text);
  }

  void read_rows() {
    if (!reader_.next())
      throw std::invalid_argument(path_ + " is empty; it must begin with a header");
    const std::vector<std::string_view> header = reader_.fields();
    const CsvColumns columns = csv_columns(reader_, options_.unlabeled);
    SplitValues splits;
    while (reader_.next()) {
      const auto& fields = reader_.fields();
      const int64_t line = reader_.line();
      if (fields.size() != header.size())
        reader_.refuse(line, "it has " + counted(std::ssize(fields), "column") +
                                 ", but the header has " + std::to_string(header.size()) +
                                 "; quote values that contain the separator");
      std::string_view image = fields[columns.image];
      if (image.starts_with(kFileUrl)) image.remove_prefix(kFileUrl.size());
      const size_t slash = image.rfind('/');
      const std::string_view name = image.substr(slash + 1);  // npos + 1 is 0
      if (name.empty()) reader_.refuse(line, "the name of the image is missing");
      if (columns.split) splits.add(fields[*columns.split]);
      folder_of(image.substr(0, slash + 1))
          .rows.push_back({name, "", line, label_of(fields[columns.label])});
    }
    if (!columns.split || options_.unlabeled) return;
    if (const auto column = splits.column(std::string(header[*columns.split])); !column.empty())
      warn(column +
           " is ignored, so all lines are used; make a list for training and one for validation");
  }

  // Returns the index of the class in labels_.
  int32_t label_of(std::string_view text) {
    if (options_.unlabeled) text = "";
    if (!labels_.empty() && labels_[last_label_] == text) return static_cast<int32_t>(last_label_);
    const auto [known, fresh] = labels_by_text_.try_emplace(text, labels_.size());
    if (fresh) {
      if (text.empty() && !options_.unlabeled)
        reader_.refuse(reader_.line(), "the class is missing");
      if (!is_utf8(text))
        reader_.refuse(reader_.line(), "the class '" + std::string(text) +
                                           "' is not UTF-8; convert the list, for example with "
                                           "iconv");
      labels_.push_back(text);
    }
    last_label_ = known->second;
    return static_cast<int32_t>(last_label_);
  }

  ListFolder& folder_of(std::string_view text) {
    const auto [known, fresh] = folders_by_text_.try_emplace(text, nullptr);
    if (fresh) known->second = &folders_[plain_folder(std::string(text))];
    return *known->second;
  }

  // Finds the files of all rows. If none is found, looks for all of them in a folder beside the
  // list: Kaggle's train.csv names images in train/ or train_images/.
  void find_images() {
    const std::string stem = fs::path(path_).stem().string();
    std::error_code error;  // ignored: a folder that cannot be examined is left out
    if (find_images_in(prefix_)) return;
    for (const std::string& name : {stem, stem + "_images", std::string("images")})
      if (fs::is_directory(prefix_ + name, error) && find_images_in(prefix_ + name + "/")) return;
    set_base(prefix_);
  }

  // Looks for the files relative to `base` (see set_base()). Returns whether any was found.
  bool find_images_in(const std::string& base) {
    set_base(base);
    std::vector<ListFolder*> folders;
    for (auto& [path, folder] : folders_)
      if (base == prefix_ || !path.starts_with('/')) folders.push_back(&folder);
    for_each_index(folders.size(), options_.threads,
                   [&](size_t i) { find_files(*folders[i], reader_); });
    // Rows without files come first.
    return std::ranges::any_of(
        folders, [](const ListFolder* folder) { return !folder->rows.back().file.empty(); });
  }

  // Sets the folder that relative paths are relative to. `base`: empty, or ends with a slash.
  void set_base(const std::string& base) {
    for (auto& [path, folder] : folders_) {
      folder.prefix = path.starts_with('/') ? path : base + path;
      if (!path.empty() && !path.ends_with('/')) folder.prefix += '/';
    }
  }

  void check_all_exist() const {
    int64_t first = INT64_MAX;
    std::string error;
    for (const auto& [path, folder] : folders_) {
      const ListedRow& row = folder.rows.front();  // rows without files come first, sorted by line
      if (!row.file.empty() || row.line > first) continue;
      first = row.line;
      error = missing_error(path, folder.prefix, row.name);
    }
    if (!error.empty()) reader_.refuse(first, error);
  }

  // Returns the first row of each image, sorted by folder and file. Leaves out files that are not
  // images.
  std::vector<Listed> different_images() const {
    std::vector<Listed> images;
    LeftOut left_out;
    int64_t repeated = 0, first_repeated = INT64_MAX;
    for (const auto& [path, folder] : folders_) {
      const ListedRow* first = nullptr;  // first row of the current file
      for (const ListedRow& row : folder.rows) {
        if (first == nullptr || first->file != row.file) {
          first = &row;
          if (row.is_image)
            images.push_back({&folder, &row});
          else
            left_out.add(folder.path_of(row));
          continue;
        }
        ++repeated;
        first_repeated = std::min(first_repeated, row.line);
        if (first->label != row.label)
          reader_.refuse(row.line, folder.path_of(row) + " has the class '" + label_text(row) +
                                       "', but in line " + std::to_string(first->line) +
                                       " the class '" + label_text(*first) + "'");
      }
    }
    if (options_.warning && !left_out.empty()) options_.warning(left_out.sentence(path_));
    if (repeated > 0)
      warn("left out " + counted(repeated, "line") + " with images of earlier lines (line " +
           std::to_string(first_repeated) + (repeated > 1 ? ", …)" : ")"));
    return images;
  }

  std::string label_text(const ListedRow& row) const {
    return std::string(labels_[static_cast<size_t>(row.label)]);
  }

  std::shared_ptr<const Dataset> dataset(const std::vector<Listed>& found) const {
    // A class exists only if it has an image.
    std::vector<std::vector<Listed>> classes(labels_.size());
    for (const Listed& image : found)
      classes[static_cast<size_t>(image.row->label)].push_back(image);
    Names names;
    std::map<std::string_view, std::vector<Listed>*> by_name;
    for (size_t i = 0; i < classes.size(); ++i) {
      if (classes[i].empty()) continue;
      names.emplace_back(labels_[i]);
      by_name[labels_[i]] = &classes[i];
    }
    sort_classes(names);
    std::vector<ListedImage> images;
    images.reserve(found.size());
    for (size_t i = 0; i < names.size(); ++i) {
      std::vector<Listed>& of_class = *by_name.at(names[i]);
      if (options_.unlabeled)
        std::ranges::sort(of_class, {}, [](const Listed& image) { return image.row->line; });
      for (const auto& [folder, row] : of_class)
        images.push_back({folder->path_of(*row), static_cast<int32_t>(i)});
    }
    return std::make_shared<FileListDataset>(std::move(images), std::move(names), prefix_);
  }

  const std::string& path_;
  const std::string prefix_;  // the list's folder: empty, or ends with a slash
  CsvReader reader_;
  const OpenOptions& options_;
  std::map<std::string, ListFolder> folders_;  // key: plain_folder(); sorted by path
  std::unordered_map<std::string_view, ListFolder*> folders_by_text_;
  std::vector<std::string_view> labels_;  // the classes as texts, in the order of their first lines
  std::unordered_map<std::string_view, size_t> labels_by_text_;  // indexes into labels_
  size_t last_label_ = 0;
};

}  // namespace

bool is_csv_list(const std::string& path) {
  const std::string name = lower(path);
  std::error_code error;  // ignored: a path that cannot be examined is no list
  return std::ranges::any_of(kListExtensions,
                             [&](const char* extension) { return name.ends_with(extension); }) &&
         fs::is_regular_file(path, error);
}

std::shared_ptr<const Dataset> open_csv_list(const std::string& path, const OpenOptions& options) {
  if (!options.labels.empty()) refuse_labels(path);
  std::string text = read_list(path);
  return CsvList(path, text, options).open();
}

std::string split_column(const std::string& path) {
  try {
    std::string text = read_list(path);
    CsvReader reader(path, text);
    if (!reader.next()) return "";
    const std::vector<std::string_view> header = reader.fields();
    const std::optional<size_t> column = csv_columns(reader, /*unlabeled=*/true).split;
    if (!column) return "";
    SplitValues values;
    while (reader.next())
      if (reader.fields().size() == header.size()) values.add(reader.fields()[*column]);
    return values.column(std::string(header[*column]));
  } catch (const std::exception&) {
    return "";
  }
}

}  // namespace shoal::data
