#include "data/sources/csv_list.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/file/whole_file.h"
#include "base/format/counted.h"
#include "base/parallel.h"
#include "base/text.h"
#include "data/container/image_files.h"
#include "data/container/scan_files.h"
#include "data/file.h"
#include "data/folder/patterns.h"
#include "data/labels/file_list.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

constexpr int64_t kMaxBytes = int64_t{1} << 30;
constexpr size_t kMaxColumns = 10'000;  // limits the memory for a line of separators

constexpr std::string_view kImageColumns[] = {"path",     "file",  "filename",   "file_name",
                                              "filepath", "image", "image_path", "image_id",
                                              "img",      "name",  "id"};
constexpr std::string_view kClassColumns[] = {"class",    "label",  "label_name",
                                              "category", "target", "y"};

char separator_of(const std::string& path, std::string_view text) {
  if (lower(path).ends_with(".tsv")) return '\t';
  const std::string_view header = text.substr(0, text.find('\n'));
  const bool comma = header.find(',') != header.npos, semicolon = header.find(';') != header.npos;
  return semicolon && !comma ? ';' : ',';
}

// Splits a text into records. Fields are views of the text; quotes are removed in place.
class CsvReader {
 public:
  // `path` selects the separator and appears in messages. Both arguments must outlive this object.
  CsvReader(const std::string& path, std::string& text)
      : path_(path), text_(text), at_(byte_order_mark(text)), separator_(separator_of(path, text)) {
    const size_t zero = text.find('\0');
    if (zero != std::string::npos)
      refuse(1 + std::count(text.begin(), text.begin() + static_cast<int64_t>(zero), '\n'),
             "it contains a zero byte; save the file as UTF-8 text");
  }

  // Reads the next record that is not empty. Returns false at the end of the text.
  bool next() {
    do {
      if (at_ == text_.size()) return false;
      fields_.clear();
      first_line_ = line_;
      while (read_field())
        if (fields_.size() == kMaxColumns) refuse(line_, "it has more than 10,000 columns");
    } while (fields_.size() == 1 && fields_[0].empty());
    return true;
  }
  const std::vector<std::string_view>& fields() const { return fields_; }
  int64_t line() const { return first_line_; }  // the record's first line, counted from 1

  [[noreturn]] void refuse(int64_t line, const std::string& what) const {
    throw std::invalid_argument(path_ + " line " + std::to_string(line) + ": " + what);
  }

 private:
  bool is_blank(char c) const { return c == ' ' || c == '\r' || (c == '\t' && c != separator_); }
  bool at_field_end() const {
    return at_ == text_.size() || text_[at_] == separator_ || text_[at_] == '\n';
  }
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }

  // Returns whether the record has another field.
  bool read_field() {
    skip_blanks();
    const bool quoted = at_ < text_.size() && text_[at_] == '"';
    fields_.push_back(quoted ? quoted_field() : plain_field());
    if (at_ == text_.size()) return false;
    if (text_[at_++] == separator_) return true;
    ++line_;
    return false;
  }

  std::string_view plain_field() {
    const size_t begin = at_;
    while (!at_field_end()) ++at_;
    size_t end = at_;
    while (end > begin && is_blank(text_[end - 1])) --end;
    return std::string_view(text_).substr(begin, end - begin);
  }

  std::string_view quoted_field() {
    const int64_t opened = line_;
    const size_t begin = ++at_;
    size_t end = begin;  // of the text without the doubled quotes
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"' && (at_ == text_.size() || text_[at_] != '"')) {
        skip_blanks();
        if (!at_field_end())
          refuse(line_, "text follows a closing quote; double the quotes inside");
        return std::string_view(text_).substr(begin, end - begin);
      }
      if (c == '"') ++at_;
      if (c == '\n') ++line_;
      text_[end++] = c;
    }
    refuse(opened, "the quote is not closed");
  }

  const std::string& path_;
  std::string& text_;
  size_t at_;
  const char separator_;
  int64_t line_ = 1, first_line_ = 1;
  std::vector<std::string_view> fields_;
};

struct ListedRow {
  std::string_view name;   // of the file, without its folder
  std::string_view label;  // empty if the dataset is unlabeled
  int64_t line = 0;
  std::string path;       // of the file; empty if it does not exist
  bool is_image = false;  // by name or content
};

struct ListFolder {
  std::string path;
  std::vector<ListedRow> rows;
};

// Returns a folder as written in the list, without empty and "." parts; empty for the list's own.
std::string plain_folder(const std::string& text) {
  std::string plain;
  for (const std::string& part : split(text, '/'))
    if (!part.empty() && part != ".") plain += (plain.empty() ? "" : "/") + part;
  return (text.starts_with('/') ? "/" : "") + plain;
}

// Returns the file `path`, or else the images that have this path without their extension. `files`:
// the sorted files of the folder.
Names files_called(const std::string& path, const Names& files) {
  auto at = std::ranges::lower_bound(files, path);
  if (at != files.end() && *at == path) return {path};
  Names found;
  if (has_image_extension(path)) return found;
  const std::string start = path + ".";
  at = std::lower_bound(at, files.end(), start);
  for (; at != files.end() && at->starts_with(start); ++at)
    if (at->rfind('.') == path.size() && has_image_extension(*at)) found.push_back(*at);
  return found;
}

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
      : path_(path), root_(parent_folder(path).string()), reader_(path, text), options_(options) {}

  std::shared_ptr<const Dataset> open() {
    read_rows();
    std::vector<ListFolder*> folders;
    for (auto& [path, folder] : folders_) folders.push_back(&folder);
    for_each_index(folders.size(), options_.threads, [&](size_t i) { find_files(*folders[i]); });
    check_all_exist();
    const std::vector<const ListedRow*> rows = different_images();
    if (rows.empty()) throw std::invalid_argument(path_ + " names no image");
    if (options_.progress) options_.progress(std::ssize(rows));
    return dataset(rows);
  }

 private:
  // Returns the first column that has one of these names. `content`: for messages.
  size_t column(std::span<const std::string_view> names, const std::string& content) const {
    const auto& header = reader_.fields();
    for (const std::string_view name : names)
      for (size_t i = 0; i < header.size(); ++i)
        if (lower(std::string(header[i])) == name) return i;
    throw std::invalid_argument(path_ + ": no column of its header (" +
                                quoted_names({header.begin(), header.end()}) + ") is the " +
                                content + "; call it " + joined({names.begin(), names.end()}));
  }

  void read_rows() {
    if (!reader_.next())
      throw std::invalid_argument(path_ + " is empty; it must begin with a header");
    const size_t columns = reader_.fields().size();
    const size_t image = column(kImageColumns, "image");
    const size_t label = options_.unlabeled ? image : column(kClassColumns, "class");
    while (reader_.next()) {
      const auto& fields = reader_.fields();
      const int64_t line = reader_.line();
      if (fields.size() != columns)
        reader_.refuse(line, "it has " + counted(std::ssize(fields), "column") +
                                 ", but the header has " + std::to_string(columns) +
                                 "; quote values that contain the separator");
      const size_t slash = fields[image].rfind('/');
      const std::string_view name = fields[image].substr(slash + 1);  // npos + 1 is 0
      if (name.empty()) reader_.refuse(line, "the name of the image is missing");
      if (fields[label].empty()) reader_.refuse(line, "the class is missing");
      folder_of(fields[image].substr(0, slash + 1))
          .rows.push_back({name, options_.unlabeled ? "" : fields[label], line, ""});
    }
  }

  ListFolder& folder_of(std::string_view text) {
    const auto [known, fresh] = folders_by_text_.try_emplace(text, nullptr);
    if (!fresh) return *known->second;
    const std::string path = plain_folder(std::string(text));
    ListFolder& folder = folders_[path];
    folder.path = path.starts_with('/') ? path : root_ + (path.empty() ? "" : "/") + path;
    return *(known->second = &folder);
  }

  // Sets the paths of the rows, and sorts the rows by path and line. Lists the folder instead of
  // examining each file: network file systems list thousands of files in the time of a few
  // examinations.
  void find_files(ListFolder& folder) const {
    Names files;
    std::error_code error;  // ignored: a folder that cannot be examined has no files
    if (fs::is_directory(folder.path, error)) files = files_in(folder.path);
    for (ListedRow& row : folder.rows) {
      Names found = files_called(path_of(folder, row), files);
      if (found.size() > 1)
        reader_.refuse(row.line, std::string(row.name) + " may be " + found[0] + " or " + found[1] +
                                     "; add the extension");
      if (found.empty()) continue;
      row.path = std::move(found[0]);
      row.is_image = is_image_file(row.path);
    }
    std::ranges::sort(folder.rows, [](const ListedRow& a, const ListedRow& b) {
      return std::tie(a.path, a.line) < std::tie(b.path, b.line);
    });
  }

  static std::string path_of(const ListFolder& folder, const ListedRow& row) {
    return (folder.path + "/").append(row.name);
  }

  void check_all_exist() const {
    int64_t first = INT64_MAX;
    std::string missing;
    for (const auto& [path, folder] : folders_) {
      const ListedRow& row = folder.rows.front();  // rows without files come first, sorted by line
      if (!row.path.empty() || row.line > first) continue;
      first = row.line;
      missing = path_of(folder, row);
    }
    if (!missing.empty())
      reader_.refuse(first, "the image " + missing +
                                " does not exist; paths are relative to the folder of the list");
  }

  // Returns the first row of each image, sorted by folder and path. Leaves out files that are not
  // images.
  std::vector<const ListedRow*> different_images() const {
    std::vector<const ListedRow*> rows;
    LeftOut left_out;
    int64_t repeated = 0;
    for (const auto& [path, folder] : folders_) {
      const ListedRow* first = nullptr;  // of this file
      for (const ListedRow& row : folder.rows) {
        if (first == nullptr || first->path != row.path) {
          first = &row;
          if (row.is_image)
            rows.push_back(&row);
          else
            left_out.add(row.path);
          continue;
        }
        ++repeated;
        if (first->label != row.label)
          reader_.refuse(row.line, row.path + " has the class '" + std::string(row.label) +
                                       "', but in line " + std::to_string(first->line) +
                                       " the class '" + std::string(first->label) + "'");
      }
    }
    if (options_.warning && !left_out.empty()) options_.warning(left_out.sentence(path_));
    if (options_.warning && repeated > 0)
      options_.warning(path_ + ": left out " + counted(repeated, "line") +
                       " with images of earlier lines");
    return rows;
  }

  std::shared_ptr<const Dataset> dataset(std::vector<const ListedRow*> rows) const {
    std::unordered_map<std::string_view, int32_t> labels;
    for (const ListedRow* row : rows) labels.try_emplace(row->label, 0);
    Names names;
    for (const auto& [name, label] : labels) names.emplace_back(name);
    sort_classes(names);
    for (size_t i = 0; i < names.size(); ++i) labels[names[i]] = static_cast<int32_t>(i);
    if (options_.unlabeled) std::ranges::sort(rows, {}, &ListedRow::line);
    std::vector<ListedImage> images;
    images.reserve(rows.size());
    for (const ListedRow* row : rows) images.push_back({row->path, labels[row->label]});
    std::ranges::stable_sort(images, {}, &ListedImage::label);
    return std::make_shared<FileListDataset>(std::move(images), std::move(names), root_);
  }

  const std::string& path_;
  const std::string root_;
  CsvReader reader_;
  const OpenOptions& options_;
  std::map<std::string, ListFolder> folders_;  // by plain_folder(), so sorted as in a listing
  std::unordered_map<std::string_view, ListFolder*> folders_by_text_;
};

}  // namespace

bool is_csv_list(const std::string& path) {
  const std::string name = lower(path);
  std::error_code error;  // ignored: a path that cannot be examined is no list
  return (name.ends_with(".csv") || name.ends_with(".tsv")) && fs::is_regular_file(path, error);
}

std::shared_ptr<const Dataset> open_csv_list(const std::string& path, const OpenOptions& options) {
  if (!options.labels.empty()) refuse_labels(path);
  const File file(path);
  const int64_t bytes = file.stamp().bytes;
  if (bytes > kMaxBytes)
    throw std::invalid_argument(path + " is larger than 1 GiB, the limit for a list");
  std::string text(static_cast<size_t>(bytes), '\0');
  text.resize(static_cast<size_t>(file.read_at(0, text.data(), bytes)));
  return CsvList(path, text, options).open();
}

}  // namespace shoal::data
