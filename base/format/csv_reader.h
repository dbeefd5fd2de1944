#pragma once
// Splits CSV text into records.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shoal {

// Reads the records of a text one after another. Quoting follows RFC 4180: a quoted field may
// contain separators, line breaks and doubled quotes. Ignores blanks around fields, empty lines and
// a byte order mark. The separator is a tab if the path ends in .tsv. Otherwise it is a comma, or a
// semicolon if only semicolons are in the first line.
//
// All functions throw std::invalid_argument for malformed text, with the path and the line.
class CsvReader {
 public:
  // `path` selects the separator and appears in messages. Both arguments must outlive this object.
  // Quotes are removed from `text` in place, so only this object may read it.
  CsvReader(const std::string& path, std::string& text);

  // Reads the next record that is not empty. Returns false at the end of the text.
  bool next();
  // The fields of the record: views of the text, valid as long as the text.
  const std::vector<std::string_view>& fields() const { return fields_; }
  int64_t line() const { return first_line_; }  // the record's first line, counted from 1

  // Throws std::invalid_argument: "PATH line LINE: WHAT".
  [[noreturn]] void refuse(int64_t line, const std::string& what) const;

 private:
  bool is_blank(char c) const { return c == ' ' || c == '\r' || (c == '\t' && c != separator_); }
  bool at_field_end() const {
    return at_ == text_.size() || text_[at_] == separator_ || text_[at_] == '\n';
  }
  void skip_blanks();
  bool read_field();
  std::string_view plain_field();
  std::string_view quoted_field();

  const std::string& path_;
  std::string& text_;
  size_t at_;
  const char separator_;
  int64_t line_ = 1, first_line_ = 1;
  std::vector<std::string_view> fields_;
};

}  // namespace shoal
