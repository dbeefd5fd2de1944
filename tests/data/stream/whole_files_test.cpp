#include "data/stream/whole_files.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include "data/random.h"
#include "data/stream/epoch.h"
#include "tests/data/sources/support.h"

using namespace shoal::data;
namespace fs = std::filesystem;

namespace {

struct ReadCall {
  off_t offset = 0;
  size_t bytes = 0;
};

// While `recording` is true, `calls` collects the arguments of pread(), by descriptor.
std::mutex recorder;
bool recording = false;
off_t bad_spot = -1;  // reads that include this file offset fail; -1: none
std::map<int, std::vector<ReadCall>> calls;

}  // namespace

// Replaces the C library's pread() in this program.
extern "C" ssize_t pread(int descriptor, void* to, size_t bytes, off_t offset) {
  const std::lock_guard lock(recorder);
  if (recording) calls[descriptor].push_back({offset, bytes});
  if (bad_spot >= offset && bad_spot < offset + static_cast<off_t>(bytes)) {
    errno = EIO;
    return -1;
  }
  return ::syscall(SYS_pread64, descriptor, to, bytes, offset);
}

namespace {

void record(bool on) {
  const std::lock_guard lock(recorder);
  recording = on;
  if (on) calls.clear();
}

void set_bad_spot(off_t place) {
  const std::lock_guard lock(recorder);
  bad_spot = place;
}

using Names = std::vector<std::string>;
constexpr size_t kPiece = size_t{4} << 20;

OpenOptions forward() {
  OpenOptions options;
  options.reads = Reads::forward;
  return options;
}

// Writes tars 0.tar … with `images` images each, named 0.tar:a/0_0.jpg, 0.tar:b/0_1.jpg ….
Names write_tars(const TempFolder& folder, const std::vector<int>& images, size_t bytes = 10) {
  Names names;
  for (size_t t = 0; t < images.size(); ++t) {
    Members members;
    for (int i = 0; i < images[t]; ++i) {
      members.emplace_back(
          (i % 2 ? "b/" : "a/") + std::to_string(t) + "_" + std::to_string(i) + ".jpg",
          std::string(bytes, static_cast<char>('A' + i)));
      names.push_back(std::to_string(t) + ".tar:" + members.back().first);
    }
    folder.write(std::to_string(t) + ".tar", make_tar(members));
  }
  return names;
}

// Returns the names of the images that reader `share` draws in an epoch, without their folder.
Names drawn(const TempFolder& folder, const WholeFilesShare& share, const EpochRequest& request) {
  const auto set = read_whole_files(open_dataset(folder / "", forward()), share);
  const auto epoch = set->begin_epoch(request);
  Names names;
  for (int64_t i = request.first;; ++i) {
    const auto one = epoch->draw(i);
    if (!one) return names;
    const std::string& name = one->image->name;
    names.push_back(name.substr(name.rfind('/', name.rfind(':')) + 1));
  }
}

EpochRequest request(int64_t epoch, bool shuffled = true) {
  return {.seed = 3, .epoch = epoch, .shuffled = shuffled};
}

}  // namespace

TEST_CASE("the readers of whole files share the images equally, each image once") {
  const TempFolder folder;
  const Names all = write_tars(folder, {7, 3, 11, 4, 1});
  for (const int64_t readers : {1, 2, 3, 26}) {
    for (const bool shuffled : {true, false}) {
      INFO(readers << (shuffled ? " shuffled" : ""));
      Names seen;
      for (int64_t i = 0; i < readers; ++i) {
        const Names own = drawn(folder, {i, readers, 8}, request(2, shuffled));
        const auto share = static_cast<int64_t>(all.size()) / readers;
        CHECK((own.size() == static_cast<size_t>(share) ||
               own.size() == static_cast<size_t>(share) + 1));
        seen.insert(seen.end(), own.begin(), own.end());
      }
      if (!shuffled) CHECK(seen == all);
      CHECK(std::set<std::string>(seen.begin(), seen.end()).size() == all.size());
      CHECK(seen.size() == all.size());
    }
  }
}

TEST_CASE("the order of whole files depends on seed and epoch, and can be resumed in its middle") {
  const TempFolder folder;
  write_tars(folder, {7, 3, 11, 4});
  const WholeFilesShare share{0, 2, 8};
  const Names first = drawn(folder, share, request(0));
  CHECK(first == drawn(folder, share, request(0)));
  CHECK(first != drawn(folder, share, request(1)));
  EpochRequest later = request(0);
  later.first = 5;
  CHECK(drawn(folder, share, later) == Names(first.begin() + 5, first.end()));
}

TEST_CASE("in training, images come from several files in turn") {
  const TempFolder folder;
  write_tars(folder, {5, 5, 5});
  const Names line = drawn(folder, {0, 1, 0}, request(0));
  for (size_t i = 0; i < line.size(); ++i) {
    CHECK(line[i].substr(0, 1) == line[i % 3].substr(0, 1));
    CHECK(line[i].substr(line[i].find('_')) == "_" + std::to_string(i / 3) + ".jpg");
  }
  CHECK(std::set<std::string>(line.begin(), line.begin() + 3).size() == 3);
}

TEST_CASE("whole files are listed and read without a seek, in pieces of 4 MiB") {
  const TempFolder folder;
  const Names all = write_tars(folder, {9, 11, 10}, 1'000'000);
  const auto in_a_row = [](const std::vector<ReadCall>& reads) {
    for (size_t i = 0; i < reads.size(); ++i) {
      const auto& [offset, bytes] = reads[i];
      if (i > 0 && offset <= reads[i - 1].offset) return false;
      if (i > 0 && offset > reads[i - 1].offset + static_cast<off_t>(kPiece)) return false;
      if (bytes > kPiece) return false;
    }
    return true;
  };
  record(true);
  const auto set = open_dataset(folder / "", forward());
  record(false);
  // Listing opens the files one after another, so several may share a descriptor number in `calls`.
  // So only the total number of reads can be checked.
  size_t large = 0;
  for (auto& [descriptor, reads] : calls) {
    std::erase_if(reads, [](const ReadCall& read) { return read.bytes < 1 << 20; });
    large += reads.size();
  }
  CHECK(large >= 9);
  CHECK(large <= 12);  // 9 pieces of 4 MiB, and one read per file to find its end

  for (const bool shuffled : {true, false}) {
    size_t images = 0;
    for (int64_t reader = 0; reader < 2; ++reader) {
      const auto stream = read_whole_files(set, {reader, 2, 0});
      record(true);
      {
        const auto epoch = stream->begin_epoch(request(0, shuffled));
        for (int64_t i = 0; epoch->draw(i); ++i) ++images;
      }
      record(false);
      CHECK(calls.size() >= 2);  // one descriptor per file
      size_t reads_of_all = 0;
      for (const auto& [descriptor, reads] : calls) reads_of_all += reads.size();
      CHECK(reads_of_all <= 15'000'000 / kPiece + 2 * calls.size());
      for (const auto& [descriptor, reads] : calls) CHECK(in_a_row(reads));
    }
    CHECK(images == all.size());
  }
}

TEST_CASE("records give the same bytes when read forward") {
  const TempFolder folder;
  std::string records;
  for (int i = 0; i < 4; ++i) {  // record 1 is larger than the pieces held in memory
    const std::string head = word(0) + word(0x3F800000u) + word(0) + word(0) + word(0) + word(0);
    records += mxnet_record(head + jpeg_text(i) + std::string(i == 1 ? 9'000'000 : 1000, '\0'));
  }
  folder.write("a.rec", records);
  for (const std::string& source : {folder / "a.rec", golden_record("imagenet.tfrecord"),
                                    golden_record("plain.rec"), golden_record("split.rec")}) {
    INFO(source);
    const auto seeking = open_dataset(source);
    CHECK(described(*open_dataset(source, forward())) == described(*seeking));
    const auto epoch = read_whole_files(open_dataset(source, forward()), {0, 1, 0})
                           ->begin_epoch(request(0, false));
    for (int64_t i = 0; i < seeking->size(); ++i) {
      const auto one = epoch->draw(i);
      REQUIRE(one);
      Bytes bytes;
      seeking->read(i, bytes);
      CHECK(one->image->bytes == bytes);
      CHECK(one->image->label == seeking->label(i));
    }
  }
  // Compressed files can only be read in order.
  const std::string gzip = golden_record("imagenet.tfrecord.gz");
  CHECK_THROWS_WITH(open_dataset(gzip, forward()), Contains("is compressed as a whole"));
  OpenOptions in_order = forward();
  in_order.in_order = true;
  const auto packed = open_dataset(gzip, in_order);
  const auto plain = open_dataset(golden_record("imagenet.tfrecord"));
  CHECK(described(*packed) == described(*plain));
  const auto epoch = read_whole_files(packed, {0, 1, 0})->begin_epoch(request(0, false));
  for (int64_t i = 0; i < plain->size(); ++i) {
    const auto one = epoch->draw(i);
    REQUIRE(one);
    Bytes bytes;
    plain->read(i, bytes);
    CHECK(one->image->bytes == bytes);
  }
}

TEST_CASE("zips are read forward in the order of their entries, without a seek") {
  for (const bool deflated : {false, true}) {
    const TempFolder folder;
    Names names;
    for (const char* zip : {"0.zip", "1.zip"}) {
      Members members;
      for (char letter = 'L'; letter >= 'A'; --letter) {  // not in the order of the dataset
        members.emplace_back(std::string("a/") + letter + zip[0] + ".jpg", "");
        KeyedRandom random(static_cast<uint64_t>(letter));  // cannot be compressed
        for (int i = 0; i < 1'000'000; ++i)
          members.back().second += static_cast<char>(random.next());
        names.push_back(std::string(zip) + ":" + members.back().first);
      }
      folder.write(zip, make_zip(members, deflated));
    }
    const auto set = open_dataset(folder / "", forward());
    const auto stream = read_whole_files(set, {0, 1, 0});
    record(true);
    Names drawn;
    const auto epoch = stream->begin_epoch(request(0, false));
    for (int64_t i = 0; const auto one = epoch->draw(i); ++i) {
      drawn.push_back(fs::path(one->image->name).parent_path().filename().string() + "/" +
                      fs::path(one->image->name).filename().string());
      CHECK(one->image->damage.empty());
      CHECK(one->image->bytes.size() == 1'000'000);
    }
    record(false);
    CHECK(drawn == names);
    for (const auto& [descriptor, reads] : calls) {
      CHECK(reads.size() <= 2 * (12'000'000 / kPiece + 2));  // two files may share a descriptor
      for (size_t i = 1; i < reads.size(); ++i)
        CHECK((reads[i].offset > reads[i - 1].offset || reads[i].offset == 0));
    }
  }
}

TEST_CASE("long files among many short ones are opened once") {
  const TempFolder folder;
  std::vector<int> images(60, 1);
  for (const size_t file : {7, 20, 33, 50}) images[file] = 26;  // these tars exceed 16 MiB
  const Names all = write_tars(folder, images, 700'000);
  const auto set = read_whole_files(open_dataset(folder / "", forward()), {0, 1, 0});
  record(true);
  size_t drawn = 0;
  const auto epoch = set->begin_epoch(request(0));
  for (int64_t i = 0; epoch->draw(i); ++i) ++drawn;
  record(false);
  CHECK(drawn == all.size());
  std::set<off_t> begins;  // offsets of reads of the long files, modulo kPiece
  for (const auto& [descriptor, reads] : calls)
    for (const ReadCall& read : reads)
      if (read.offset > 2'000'000) begins.insert(read.offset % static_cast<off_t>(kPiece));
  // Modulo kPiece, all pieces begin at the same offset. Only the read of the end of a file begins
  // elsewhere.
  CHECK(begins.size() == 2);
}

TEST_CASE("a bad spot on the disk damages only the image there, when reading forward") {
  const TempFolder folder;
  write_tars(folder, {12}, 1'000'000);
  const auto set = open_dataset(folder / "", forward());
  set_bad_spot(5'400'000);  // offset in the tar, inside the sixth image
  const auto epoch = read_whole_files(set, {0, 1, 0})->begin_epoch(request(0, false));
  Names damaged;
  for (int64_t i = 0; i < 12; ++i) {
    const auto one = epoch->draw(i);
    REQUIRE(one);
    const StreamImage& image = *one->image;
    if (!image.damage.empty()) {
      damaged.push_back(image.damage);
      continue;
    }
    const char letter =
        static_cast<char>('A' + std::stoi(image.name.substr(image.name.rfind('_') + 1)));
    CHECK(image.bytes == Bytes(1'000'000, static_cast<uint8_t>(letter)));
  }
  set_bad_spot(-1);
  REQUIRE(damaged.size() == 1);
  CHECK_THAT(damaged[0], Contains("Input/output error"));
}

TEST_CASE("images in separate files are not read as a stream") {
  const auto set = open_dataset("synthetic:8:2:16x16", forward());
  CHECK(read_whole_files(set, {0, 1, 8}) == nullptr);
}
