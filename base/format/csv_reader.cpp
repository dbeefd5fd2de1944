#include "base/format/csv_reader.h"

#include <algorithm>
#include <stdexcept>

#include "base/text.h"

namespace shoal {
namespace {

constexpr size_t kMaxColumns = 10'000;  // limits the memory for a line of separators

char separator_of(const std::string& path, std::string_view text) {
  if (lower(path).ends_with(".tsv")) return '\t';
  const std::string_view header = text.substr(0, text.find('\n'));
  const bool comma = header.find(',') != header.npos, semicolon = header.find(';') != header.npos;
  return semicolon && !comma ? ';' : ',';
}

}  // namespace

CsvReader::CsvReader(const std::string& path, std::string& text)
    : path_(path), text_(text), at_(byte_order_mark(text)), separator_(separator_of(path, text)) {
  const size_t zero = text.find('\0');
  if (zero != std::string::npos)
    refuse(1 + std::count(text.begin(), text.begin() + static_cast<int64_t>(zero), '\n'),
           "it contains a zero byte; save the file as UTF-8 text");
}

bool CsvReader::next() {
  do {
    if (at_ == text_.size()) return false;
    fields_.clear();
    first_line_ = line_;
    while (read_field())
      if (fields_.size() == kMaxColumns) refuse(line_, "it has more than 10,000 columns");
  } while (fields_.size() == 1 && fields_[0].empty());
  return true;
}

void CsvReader::refuse(int64_t line, const std::string& what) const {
  throw std::invalid_argument(path_ + " line " + std::to_string(line) + ": " + what);
}

void CsvReader::skip_blanks() {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
}

// Reads one field of the record. Returns whether another one follows.
bool CsvReader::read_field() {
  skip_blanks();
  const bool quoted = at_ < text_.size() && text_[at_] == '"';
  fields_.push_back(quoted ? quoted_field() : plain_field());
  if (at_ == text_.size()) return false;
  if (text_[at_++] == separator_) return true;
  ++line_;
  return false;
}

std::string_view CsvReader::plain_field() {
  const size_t begin = at_;
  while (!at_field_end()) ++at_;
  size_t end = at_;
  while (end > begin && is_blank(text_[end - 1])) --end;
  return std::string_view(text_).substr(begin, end - begin);
}

std::string_view CsvReader::quoted_field() {
  const int64_t opened = line_;
  const size_t begin = ++at_;
  size_t end = begin;  // end of the unescaped text, which is written in place
  while (at_ < text_.size()) {
    const char c = text_[at_++];
    if (c == '"' && (at_ == text_.size() || text_[at_] != '"')) {
      skip_blanks();
      if (!at_field_end()) refuse(line_, "text follows a closing quote; double the quotes inside");
      return std::string_view(text_).substr(begin, end - begin);
    }
    if (c == '"') ++at_;
    if (c == '\n') ++line_;
    text_[end++] = c;
  }
  refuse(opened, "the quote is not closed");
}

}  // namespace shoal
