// A tar is a row of blocks of 512 bytes: a header, the content filled up with zeros, the next
// header, and two blocks of zeros at the end. Headers of type L and x hold, as their content, what
// does not fit into the header behind them: a long name, a large size.
#include "data/sources/tar_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

namespace shoal::data {
namespace {

constexpr uint64_t kBlock = 512;
constexpr uint64_t kMostText = uint64_t{1} << 20;  // bytes of a name or of pax records
constexpr uint64_t kMostBehind = 64 * 1024;        // bytes of filling that are looked at

using Block = std::array<char, kBlock>;

std::string_view field(const Block& block, size_t at, size_t bytes) {
  const std::string_view all(block.data() + at, bytes);
  return all.substr(0, std::min(all.find('\0'), bytes));
}

// Octal digits between blanks, or a big-endian number behind a byte of 0x80. Nothing: neither.
std::optional<uint64_t> number(const Block& block, size_t at, size_t bytes) {
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

bool has_right_checksum(const Block& block) {
  constexpr size_t kAt = 148, kBytes = 8;
  int64_t plain = 0, with_sign = 0;  // old programs summed signed characters
  for (size_t i = 0; i < kBlock; ++i) {
    const char c = i >= kAt && i < kAt + kBytes ? ' ' : block[i];
    plain += static_cast<uint8_t>(c);
    with_sign += static_cast<signed char>(c);
  }
  const auto stated = number(block, kAt, kBytes);
  return stated &&
         (static_cast<int64_t>(*stated) == plain || static_cast<int64_t>(*stated) == with_sign);
}

bool is_zero(const Block& block) {
  return std::all_of(block.begin(), block.end(), [](char c) { return c == 0; });
}

std::string plain_name(std::string_view name) {
  while (name.starts_with("./")) {
    name.remove_prefix(2);
    while (name.starts_with('/')) name.remove_prefix(1);
  }
  return std::string(name);
}

class TarLister {
 public:
  TarLister(const File& file, uint64_t begin, uint64_t end) : file_(file), at_(begin), end_(end) {}

  std::vector<TarMember> run() {
    Block block;
    while (next_header(block)) member(block);
    return std::move(members_);
  }

 private:
  // What the headers before a member say about it.
  struct Said {
    std::optional<std::string> name, link;
    std::optional<uint64_t> bytes;
  };

  [[noreturn]] void refuse(const std::string& what, uint64_t place) const {
    throw std::invalid_argument(file_.path() + " " + what + " (at byte " + std::to_string(place) +
                                ")");
  }

  void read(uint64_t at, char* to, uint64_t bytes) const {
    if (bytes > end_ - at ||
        file_.read_at(at, to, static_cast<int64_t>(bytes)) != static_cast<int64_t>(bytes))
      refuse("is cut short: a part of this tar is missing", at);
  }

  // False at the end mark.
  bool next_header(Block& block) {
    header_ = at_;
    if (at_ == end_) refuse("is cut short: this tar has no end mark", at_);
    read(at_, block.data(), kBlock);
    at_ += kBlock;
    if (is_zero(block)) {
      check_end();
      return false;
    }
    if (!has_right_checksum(block))
      refuse(at_ - kBlock == 0 ? "is no tar, or damaged: its first header is wrong"
                               : "is damaged: a header of this tar has a wrong checksum",
             header_);
    return true;
  }

  // Another tar behind the end mark would be left out without a word.
  void check_end() const {
    Block block;
    const uint64_t stop = std::min(end_, at_ + kMostBehind);
    for (uint64_t at = at_; at + kBlock <= stop; at += kBlock) {
      if (file_.read_at(at, block.data(), kBlock) != kBlock) return;
      if (is_zero(block)) continue;
      if (has_right_checksum(block))
        refuse("holds several tars one behind the other; put them into files of their own", at);
      return;
    }
  }

  // The content of a header that speaks about the next one.
  std::string text_content(uint64_t bytes) {
    if (bytes > kMostText) refuse("is damaged: a name in this tar is too long", header_);
    std::string text(bytes, '\0');
    read(at_, text.data(), bytes);
    skip(bytes);
    return text;
  }

  void skip(uint64_t bytes) {
    if (bytes > end_ - at_) refuse("is cut short: a part of this tar is missing", header_);
    const uint64_t filled = (bytes + kBlock - 1) / kBlock * kBlock;
    at_ += std::min(filled, end_ - at_);
  }

  // Records of the form "LENGTH KEY=VALUE\n".
  void read_pax(std::string_view text) {
    while (!text.empty() && text[0] != '\0') {
      size_t length = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
      const auto digits = static_cast<size_t>(end - text.data());
      if (error != std::errc() || length > text.size() || length < digits + 3 || *end != ' ' ||
          text[length - 1] != '\n')
        refuse("is damaged: a pax record of this tar is wrong", header_);
      const std::string_view record = text.substr(digits + 1, length - digits - 2);
      text.remove_prefix(length);
      const size_t equals = record.find('=');
      if (equals == std::string_view::npos)
        refuse("is damaged: a pax record of this tar is wrong", header_);
      pax_record(record.substr(0, equals), record.substr(equals + 1));
    }
  }

  void pax_record(std::string_view key, std::string_view value) {
    if (key == "path") said_.name = value;
    if (key == "linkpath") said_.link = value;
    if (key == "size") {
      uint64_t bytes = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), bytes);
      if (error != std::errc() || end != value.data() + value.size())
        refuse("is damaged: a pax record of this tar is wrong", header_);
      said_.bytes = bytes;
    }
    if (key.starts_with("GNU.sparse")) sparse();
  }

  [[noreturn]] void sparse() const {
    refuse("holds a sparse file, which cannot be read in place; make the tar without --sparse",
           header_);
  }

  void member(const Block& block) {
    const auto stated = number(block, 124, 12);
    if (!stated) refuse("is damaged: a header of this tar states no size", header_);
    const char type = block[156];
    switch (type) {
      case 'L':
        said_.name = text_of_name(text_content(*stated));
        return;
      case 'K':
        said_.link = text_of_name(text_content(*stated));
        return;
      case 'x':
      case 'X':
        read_pax(text_content(*stated));
        return;
      case 'g':
        text_content(*stated);
        return;
      case 'S':
        sparse();
      case 'M':
        refuse("is a part of a multi-volume tar, which cannot be read alone", header_);
      default:
        break;
    }
    const uint64_t bytes = said_.bytes.value_or(*stated);
    const std::string name = plain_name(said_.name ? *said_.name : name_of(block));
    const std::string link =
        plain_name(said_.link ? *said_.link : std::string(field(block, 157, 100)));
    said_ = {};
    switch (type) {
      case '1':
        add_link(name, link);
        return;
      case '2':
        refuse("holds the symbolic link " + name + "; make the tar with --dereference", header_);
      case '3':
      case '4':
      case '5':
      case '6':
        return;  // without content, whatever the size says
      default:
        if ((type == '0' || type == '7' || type == '\0') && !name.ends_with('/'))
          members_.push_back({name, at_, bytes, header_});
        skip(bytes);
    }
  }

  static std::string text_of_name(std::string text) {
    text.resize(std::min(text.find('\0'), text.size()));
    return text;
  }

  static std::string name_of(const Block& block) {
    const std::string name(field(block, 0, 100));
    const bool posix = std::string_view(block.data() + 257, 6) == std::string_view("ustar\0", 6);
    const std::string_view folder = posix ? field(block, 345, 155) : std::string_view();
    return folder.empty() ? name : std::string(folder) + "/" + name;
  }

  void add_link(const std::string& name, const std::string& link) {
    for (; noted_ < members_.size(); ++noted_) by_name_[members_[noted_].name] = noted_;
    const auto found = by_name_.find(link);
    if (found == by_name_.end())
      refuse("links " + name + " to " + link + ", which it does not hold before", header_);
    const TarMember target = members_[found->second];
    members_.push_back({name, target.offset, target.bytes, header_});
  }

  const File& file_;
  uint64_t at_, end_, header_ = 0;
  Said said_;
  std::vector<TarMember> members_;
  std::unordered_map<std::string, size_t> by_name_;  // of the first `noted_` members
  size_t noted_ = 0;
};

}  // namespace

std::vector<TarMember> list_tar(const File& file, uint64_t begin, uint64_t end) {
  return TarLister(file, begin, end).run();
}

bool is_tar(const File& file) {
  Block block;
  return file.read_at(0, block.data(), kBlock) == static_cast<int64_t>(kBlock) && !is_zero(block) &&
         has_right_checksum(block);
}

}  // namespace shoal::data
