// A tar is a sequence of blocks of 512 bytes: for each member a header and its content padded with
// zeros, and two blocks of zeros at the end. The content of headers of types L, K, x and X is data
// that does not fit into the next header, such as a long name or a large size.
#include "data/tar/tar_walker.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include "base/text.h"

namespace shoal::data {
namespace {

constexpr uint64_t kMaxText = uint64_t{1} << 20;  // bytes of a name or of pax records
constexpr const char* kCutShort = "is cut short: a part of this tar is missing";
constexpr const char* kMakeAgain = "; download or make it again";

std::string_view field(const TarBlock& block, size_t at, size_t bytes) {
  const std::string_view all(block.data() + at, bytes);
  return all.substr(0, std::min(all.find('\0'), bytes));
}

// Parses a number: octal digits between blanks, or big-endian bytes after the byte 0x80. Returns
// nothing for anything else.
std::optional<uint64_t> number(const TarBlock& block, size_t at, size_t bytes) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(block[at + i]); };
  uint64_t value = 0;
  if (byte(0) & 0x80) {
    if (byte(0) != 0x80) return std::nullopt;  // negative, or beyond 64 bits
    for (size_t i = 1; i < bytes; ++i) {
      if (value >> 55) return std::nullopt;
      value = value << 8 | byte(i);
    }
    return value;
  }
  std::string_view text = field(block, at, bytes);
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  for (const char c : text) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value << 3 | static_cast<uint64_t>(c - '0');
  }
  return value;
}

bool has_right_checksum(const TarBlock& block) {
  constexpr size_t kAt = 148, kBytes = 8;
  int64_t plain = 0, with_sign = 0;  // with_sign: for old programs, which sum signed characters
  for (size_t i = 0; i < kTarBlock; ++i) {
    const char c = i >= kAt && i < kAt + kBytes ? ' ' : block[i];
    plain += static_cast<uint8_t>(c);
    with_sign += static_cast<signed char>(c);
  }
  const auto stated = number(block, kAt, kBytes);
  return stated &&
         (static_cast<int64_t>(*stated) == plain || static_cast<int64_t>(*stated) == with_sign);
}

bool is_zero(const TarBlock& block) {
  return std::all_of(block.begin(), block.end(), [](char c) { return c == 0; });
}

constexpr char kSparse[] =
    "has a sparse file, which cannot be read in place; make the tar without --sparse";

std::string text_of_name(std::string text) {
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

std::string name_of(const TarBlock& block) {
  const std::string name(field(block, 0, 100));
  const bool posix = std::string_view(block.data() + 257, 6) == std::string_view("ustar\0", 6);
  const std::string_view folder = posix ? field(block, 345, 155) : std::string_view();
  return folder.empty() ? name : std::string(folder) + "/" + name;
}

}  // namespace

std::string plain_name(std::string_view name) {
  const bool folder = name.ends_with('/');
  std::string plain;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('/'));
    name.remove_prefix(std::min(part.size() + 1, name.size()));
    if (part.empty() || part == "." || (part == ".." && plain.empty())) continue;
    if (!plain.empty()) plain += '/';
    plain += part;
  }
  return folder ? plain + '/' : plain;
}

void TarWalker::refuse(const std::string& what, const std::string& advice) const {
  throw std::invalid_argument(source_.name() + " " + what + " (at byte " + std::to_string(header_) +
                              ")" + advice);
}

bool TarWalker::next(TarEntry& entry) {
  for (;;) {
    if (!held_) {
      pass_content();
      if (!next_header()) return false;
    }
    held_ = false;
    if (header(entry)) return true;
  }
}

// Returns false at the end mark.
bool TarWalker::next_header() {
  header_ = source_.position();
  const size_t count = source_.read(block_.data(), kTarBlock);
  if (count == 0) refuse("is cut short: this tar has no end mark", kMakeAgain);
  if (count < kTarBlock) refuse(kCutShort, kMakeAgain);
  if (is_zero(block_)) return false;
  if (!has_right_checksum(block_))
    refuse(header_ == 0 ? "is not a tar, or is damaged: its first header is wrong"
                        : "is damaged: a header of this tar has a wrong checksum");
  return true;
}

bool TarWalker::next_archive() {
  for (;;) {
    header_ = source_.position();
    block_.fill('\0');
    const size_t count = source_.read(block_.data(), kTarBlock);
    held_ = count == kTarBlock && has_right_checksum(block_);
    if (held_) return true;
    if (!is_zero(block_))
      refuse(
          "is damaged, or not a tar: after the end of a tar, neither another tar nor zeros follow");
    if (count < kTarBlock) return false;
  }
}

bool TarWalker::has_archive_within(uint64_t most) {
  for (uint64_t looked = 0; looked < most; looked += kTarBlock) {
    header_ = source_.position();
    if (source_.read(block_.data(), kTarBlock) < kTarBlock) return false;
    if (is_zero(block_)) continue;
    held_ = has_right_checksum(block_);
    return held_;
  }
  return false;
}

// Reads the content that follows a header of type L, K, x, X or g.
std::string TarWalker::text_content(uint64_t bytes) {
  if (bytes > kMaxText) refuse("has a name or extended header of more than 1 MiB");
  std::string text(bytes, '\0');
  if (source_.read(text.data(), bytes) < bytes) refuse(kCutShort, kMakeAgain);
  source_.skip((kTarBlock - bytes % kTarBlock) % kTarBlock);
  return text;
}

// Skips the rest of the current entry's content, and its padding, which may be missing at the end
// of the source.
void TarWalker::pass_content() {
  const uint64_t left = content_end_ > source_.position() ? content_end_ - source_.position() : 0;
  if (source_.skip(left) < left) refuse(kCutShort, kMakeAgain);
  source_.skip(padding_);
  content_end_ = padding_ = 0;
}

// Parses records of the form "LENGTH KEY=VALUE\n".
void TarWalker::read_pax(std::string_view text) {
  while (!text.empty() && text[0] != '\0') {
    size_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = static_cast<size_t>(end - text.data());
    if (error != std::errc() || length > text.size() || length < digits + 3 || *end != ' ' ||
        text[length - 1] != '\n')
      refuse("is damaged: a pax record of this tar is wrong");
    const std::string_view record = text.substr(digits + 1, length - digits - 2);
    text.remove_prefix(length);
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos) refuse("is damaged: a pax record of this tar is wrong");
    pax_record(record.substr(0, equals), record.substr(equals + 1));
  }
}

void TarWalker::pax_record(std::string_view key, std::string_view value) {
  if (key == "path") extended_.name = value;
  if (key == "linkpath") extended_.link = value;
  if (key == "size") {
    const auto bytes = parse_number<uint64_t>(value);
    if (!bytes) refuse("is damaged: a pax record of this tar is wrong");
    extended_.bytes = *bytes;
  }
  if (key.starts_with("GNU.sparse")) refuse(kSparse);
}

// Handles the header in block_. Returns true if it is the header of an entry that next() must
// return.
bool TarWalker::header(TarEntry& entry) {
  const auto stated = number(block_, 124, 12);
  if (!stated) refuse("is damaged: a header of this tar has an invalid size");
  const char type = block_[156];
  switch (type) {
    case 'L':
      extended_.name = text_of_name(text_content(*stated));
      return false;
    case 'K':
      extended_.link = text_of_name(text_content(*stated));
      return false;
    case 'x':
    case 'X':
      read_pax(text_content(*stated));
      return false;
    case 'g':
      text_content(*stated);
      return false;
    case 'S':
      refuse(kSparse);
    case 'M':
      refuse("is a part of a multi-volume tar, which cannot be read alone");
    default:
      break;
  }
  entry.bytes = extended_.bytes.value_or(*stated);
  entry.name = plain_name(extended_.name ? *extended_.name : name_of(block_));
  entry.link = plain_name(extended_.link ? *extended_.link : std::string(field(block_, 157, 100)));
  entry.header_place = header_;
  extended_ = {};
  if (type == '2')
    refuse("has the symbolic link " + entry.name + "; make the tar with --dereference");
  if (type >= '3' && type <= '6') return false;  // has no content, even if its size is not 0
  entry.is_link = type == '1';
  if (entry.is_link) {
    entry.bytes = 0;
    return true;
  }
  content_end_ =
      entry.bytes > UINT64_MAX - source_.position() ? UINT64_MAX : source_.position() + entry.bytes;
  padding_ = (kTarBlock - entry.bytes % kTarBlock) % kTarBlock;
  const bool regular = type == '0' || type == '7' || type == '\0';
  if (regular && !entry.name.ends_with('/')) return true;
  pass_content();
  return false;
}

bool begins_tar(std::span<const uint8_t> head) {
  if (head.size() < kTarBlock) return false;
  TarBlock block;
  std::memcpy(block.data(), head.data(), kTarBlock);
  return !is_zero(block) && has_right_checksum(block);
}

}  // namespace shoal::data
