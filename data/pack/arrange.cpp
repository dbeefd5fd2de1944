#include "data/pack/arrange.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file/whole_file.h"
#include "base/parallel.h"
#include "base/round.h"
#include "data/errors.h"
#include "data/tar/tar_reader.h"

namespace shoal::data {
namespace fs = std::filesystem;

namespace {

constexpr size_t kBlock = 512;         // bytes; tars consist of such blocks
constexpr size_t kEnd = 2 * kBlock;    // two blocks of zeros end a tar
constexpr size_t kMaxName = 100;       // bytes; longer names need header extensions
constexpr int64_t kReportEvery = 100;  // images

std::string base_name(const std::string& name) {
  return name.substr(name.find_last_of("/:") + 1);
}

// Throws unless `name` can be the name of a visible file or folder. Names from archives may contain
// anything.
void require_file_name(const std::string& name, const std::string& what) {
  constexpr std::string_view kForbidden("/\0", 2);
  if (!name.empty() && name[0] != '.' && name.find_first_of(kForbidden) == name.npos) return;
  std::string shown = name;
  std::replace(shown.begin(), shown.end(), '\0', '?');  // messages end at a NUL
  throw std::invalid_argument(what + " '" + shown +
                              "' cannot be written under its name, which is empty, begins with a "
                              "dot, or contains a slash or NUL; rename it in the source");
}

// Whether the file has this content. Its size alone is not enough: a power loss can leave a file of
// the right size that contains zeros.
bool holds(const fs::path& file, const std::vector<uint8_t>& bytes) {
  std::error_code none;
  if (fs::file_size(file, none) != bytes.size()) return false;
  const std::vector<char> there = read_whole_file(file);
  return std::equal(there.begin(), there.end(), bytes.begin(), bytes.end(),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

// Returns a POSIX ustar header of a regular file that everybody may read.
std::vector<uint8_t> tar_header(const std::string& name, size_t bytes) {
  std::vector<uint8_t> header(kBlock);
  char* const text = reinterpret_cast<char*>(header.data());
  const auto field = [&](size_t at, size_t width, const char* format, unsigned long long value) {
    std::snprintf(text + at, width, format, value);
  };
  std::memcpy(text, name.data(), name.size());
  field(100, 8, "%07llo", 0644);
  field(108, 8, "%07llo", 0);
  field(116, 8, "%07llo", 0);
  field(124, 12, "%011llo", bytes);
  field(136, 12, "%011llo", 0);
  std::memset(text + 148, ' ', 8);  // the checksum is computed with blanks in its own field
  text[156] = '0';
  std::memcpy(text + 257, "ustar\00000", 8);
  unsigned sum = 0;
  for (const uint8_t byte : header) sum += byte;
  field(148, 8, "%06llo", sum & 0777777);  // six digits and NUL; the eighth byte stays blank
  return header;
}

class Arranger {
 public:
  Arranger(const Dataset& source, fs::path dest, const std::function<void(int64_t)>& progress,
           const std::function<void(const std::string&)>& warning)
      : source_(source), dest_(std::move(dest)), progress_(progress), warning_(warning) {
    members_.resize(source.classes().size());
    for (int64_t i = 0; i < source.size(); ++i)
      members_[static_cast<size_t>(source.label(i))].push_back(i);
  }

  ArrangeSummary run(Arrangement arrangement, int threads) {
    for (const std::string& name : source_.classes()) require_file_name(name, "the class");
    create_folders(dest_);
    for_each_index(members_.size(), threads, [&](size_t label) {
      check_names(label);
      if (arrangement == Arrangement::folders)
        write_folder(label);
      else
        write_tar(label);
    });
    return {done_ - damaged_, kept_, damaged_};
  }

 private:
  const std::string& class_name(size_t label) const { return source_.classes()[label]; }
  std::string name(int64_t sample) const { return base_name(source_.name(sample)); }

  void check_names(size_t label) const {
    std::set<std::string> names;
    for (const int64_t sample : members_[label]) {
      const std::string own = name(sample);
      require_file_name(own, "the image");
      if (!names.insert(own).second)
        throw std::invalid_argument("two images of class " + class_name(label) + " have the name " +
                                    name(sample) + "; the second is " + source_.name(sample));
    }
  }

  // Returns false if the image is damaged. `report`: whether to call warning_ in this case.
  bool read(int64_t sample, std::vector<uint8_t>& bytes, bool report) {
    try {
      source_.read(sample, bytes);
      return true;
    } catch (const DamagedImage& damage) {
      if (!report) return false;
      const std::lock_guard lock(mutex_);
      warning_(source_.name(sample) + ": " + damage.what() + "; it is left out");
      return false;
    }
  }

  void count(int64_t images) {
    const int64_t before = done_.fetch_add(images);
    if ((before + images) / kReportEvery == before / kReportEvery) return;
    const std::lock_guard lock(mutex_);
    progress_(before + images);
  }

  void write_folder(size_t label) {
    if (members_[label].empty()) return;  // shoal would refuse an empty class folder
    const fs::path folder = dest_ / class_name(label);
    create_folders(folder);
    std::vector<uint8_t> bytes;
    for (const int64_t sample : members_[label]) {
      if (!read(sample, bytes, /*report=*/true)) {
        ++damaged_;
      } else {
        const fs::path file = folder / name(sample);
        if (holds(file, bytes)) {
          ++kept_;
        } else {
          const auto produce = [&](const ByteSink& sink) { sink(bytes.data(), bytes.size()); };
          write_whole(file, produce, {.flush = false});
        }
      }
      count(1);
    }
    flush_file_system(folder);  // once per class: a flush per image would take hours
  }

  // Throws if the tar of an earlier run has an image that is not in the source.
  void check_members(const fs::path& file, size_t label) const {
    std::set<std::string> names;
    for (const int64_t sample : members_[label]) names.insert(name(sample));
    for (const TarMember& member : list_tar(File(file.string()), 0, fs::file_size(file)))
      require_valid(names.contains(member.name),
                    file.string() + " has the image " + member.name +
                        ", which is not in the source; remove the tar");
  }

  // Passes the tar of a class to `sink`. Returns its number of images. `first`: whether the images
  // are read for the first time; if so, also counts them as done and reports damaged ones.
  int64_t make_tar(size_t label, bool first, const ByteSink& sink) {
    int64_t images = 0;
    std::vector<uint8_t> bytes;
    for (const int64_t sample : members_[label]) {
      if (read(sample, bytes, first)) {
        append(sink, name(sample), bytes);
        ++images;
      }
      if (first) count(1);
    }
    const std::vector<uint8_t> end(kEnd);
    sink(end.data(), end.size());
    return images;
  }

  // Whether the file equals the tar of the class. Sets `images` to the result of make_tar().
  bool is_tar_of(const fs::path& file, size_t label, int64_t& images) {
    std::ifstream there(file, std::ios::binary);
    bool same = true;
    std::vector<char> block;
    images = make_tar(label, /*first=*/true, [&](const void* bytes, size_t size) {
      if (!same) return;
      block.resize(size);
      there.read(block.data(), static_cast<std::streamsize>(size));
      same = there.good() && std::memcmp(block.data(), bytes, size) == 0;
    });
    return same && there.peek() == std::ifstream::traits_type::eof();
  }

  void write_tar(size_t label) {
    const fs::path file = dest_ / (class_name(label) + ".tar");
    const bool exists = fs::exists(file);
    if (exists) check_members(file, label);
    int64_t images = 0;
    const bool keep = exists && is_tar_of(file, label, images);
    if (keep)
      kept_ += images;
    else
      write_whole(file, [&](const ByteSink& sink) { images = make_tar(label, !exists, sink); });
    damaged_ += static_cast<int64_t>(members_[label].size()) - images;
  }

  static void append(const ByteSink& sink, const std::string& name, std::vector<uint8_t>& bytes) {
    if (name.size() > kMaxName)
      throw std::invalid_argument("the name " + name + " is longer than a tar's 100 bytes");
    const auto header = tar_header(name, bytes.size());
    sink(header.data(), header.size());
    bytes.resize(round_up(bytes.size(), kBlock));
    sink(bytes.data(), bytes.size());
  }

  const Dataset& source_;
  const fs::path dest_;
  const std::function<void(int64_t)>& progress_;
  const std::function<void(const std::string&)>& warning_;
  std::vector<std::vector<int64_t>> members_;  // samples of each class
  std::mutex mutex_;
  std::atomic<int64_t> done_ = 0, kept_ = 0, damaged_ = 0;
};

}  // namespace

ArrangeSummary arrange(const Dataset& source, const std::string& dest, Arrangement arrangement,
                       int threads, const std::function<void(int64_t)>& progress,
                       const std::function<void(const std::string&)>& warning) {
  return Arranger(source, dest, progress, warning).run(arrangement, threads);
}

}  // namespace shoal::data
