#include "data/tar/tar_reader.h"

#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "data/tar/tar_walker.h"

namespace shoal::data {
namespace {

// Maximum number of bytes after the end mark that are searched for another tar.
constexpr uint64_t kMaxBehind = 64 * 1024;

class TarLister {
 public:
  TarLister(const File& file, uint64_t begin, uint64_t end, const KeepContent& keep)
      : file_(file), source_(file, begin, end), walker_(source_), keep_(keep) {}

  std::vector<TarMember> run() {
    for (TarEntry entry; walker_.next(entry);) {
      if (entry.is_link)
        add_link(entry);
      else
        add_file(entry);
    }
    // Without this check, another tar after the end mark would be ignored silently.
    if (walker_.has_archive_within(kMaxBehind))
      refuse("has several tars one after the other; put them into separate files", walker_.place());
    return std::move(members_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what, uint64_t place) const {
    throw std::invalid_argument(source_.name() + " " + what + " (at byte " + std::to_string(place) +
                                ")");
  }

  void add_file(const TarEntry& entry) {
    TarMember member{entry.name, source_.position(), entry.bytes, {}};
    if (keep_) {
      member.content.resize(keep_(entry.name, entry.bytes));
      member.content.resize(source_.read(member.content.data(), member.content.size()));
    }
    members_.push_back(std::move(member));
  }

  void add_link(const TarEntry& entry) {
    for (; noted_ < members_.size(); ++noted_) by_name_[members_[noted_].name] = noted_;
    const auto found = by_name_.find(entry.link);
    if (found == by_name_.end())
      refuse("links " + entry.name + " to " + entry.link + ", which is not in the tar before it",
             entry.header_place);
    TarMember member = members_[found->second];
    member.name = entry.name;
    const uint64_t needed = keep_ ? keep_(member.name, member.bytes) : 0;
    if (needed > member.content.size()) {  // more than was kept for the link's target
      const size_t have = member.content.size();
      member.content.resize(needed);
      auto* const to = reinterpret_cast<uint8_t*>(member.content.data());
      const int64_t count =
          file_.read_at(member.offset + have, to + have, static_cast<int64_t>(needed - have));
      member.content.resize(have + static_cast<size_t>(count));
    }
    members_.push_back(std::move(member));
  }

  const File& file_;
  FileSource source_;
  TarWalker walker_;
  const KeepContent& keep_;
  std::vector<TarMember> members_;
  std::unordered_map<std::string, size_t> by_name_;  // indices of the first `noted_` members
  size_t noted_ = 0;
};

}  // namespace

std::vector<TarMember> list_tar(const File& file, uint64_t begin, uint64_t end,
                                const KeepContent& keep) {
  return TarLister(file, begin, end, keep).run();
}

bool is_tar(const File& file) {
  std::array<uint8_t, kTarBlock> head{};
  const int64_t count = file.read_at(0, head.data(), kTarBlock);
  return begins_tar(std::span(head).first(static_cast<size_t>(count)));
}

}  // namespace shoal::data
