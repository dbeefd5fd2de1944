#include "data/container/image_files.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "data/folder/image_folder.h"
#include "data/folder/listing.h"
#include "data/pack/arrange.h"
#include "data/pack/writer.h"
#include "tests/data/sources/support.h"

using namespace shoal::data;
using Catch::Contains;
using Texts = std::vector<std::string>;
namespace fs = std::filesystem;

namespace {

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Typical non-image files in image folders. Two of them are hidden.
const Members& strangers() {
  static const Members all = {{"cat/.DS_Store", "x"},         {"cat/._a.jpg", "x"},
                              {"cat/README.txt", "our cats"}, {"cat/Thumbs.db", "\xd0\xcf\x11\xe0"},
                              {"cat/index.csv", "a,b\n"},     {"cat/info.json", "{}"},
                              {"dog/desktop.ini", "[.]"},     {"dog/empty", ""},
                              {"dog/tags.xml", "<a/>"}};
  return all;
}
const char* const kSentence =
    ": left out 7 files that are not images by name or content (cat/README.txt, cat/Thumbs.db, "
    "cat/index.csv, …) and 2 hidden files";

// Images, some without the extension of an image file. One is damaged.
Members images() {
  return {{"cat/a.jpg", jpeg_text(1)},
          {"cat/b", jpeg_text(2)},
          {"cat/c.txt", jpeg_text(3)},
          {"dog/d.JPEG", "no image"}};
}

Members below(const Members& members, const std::string& folder) {
  Members found;
  for (const auto& [name, content] : members)
    if (name.starts_with(folder)) found.emplace_back(name.substr(folder.size()), content);
  return found;
}

struct Mixed {
  Mixed() {
    all = images();
    all.insert(all.end(), strangers().begin(), strangers().end());
    for (const auto& [name, content] : all) folder.write("set/" + name, content);
  }
  TempFolder folder;
  Members all;
  const Texts expected = {"0 cat a.jpg " + jpeg_text(1), "0 cat b " + jpeg_text(2),
                          "0 cat c.txt " + jpeg_text(3), "1 dog d.JPEG no image"};
};

}  // namespace

TEST_CASE("a file is an image by its name or by its content") {
  const std::string jpeg = jpeg_text(1), text = "hello";
  for (const char* name : {"a.jpg", "a.JPEG", "b/a.png", "a.b.webp", "a.gif", "a.heic"})
    CHECK(is_image(name, bytes_of(text)));
  for (const char* name : {"a", "a.txt", "a.jpg.txt", "a.jpg/b", "Thumbs.db", ""}) {
    CHECK(is_image(name, bytes_of(jpeg)));
    CHECK_FALSE(is_image(name, bytes_of(text)));
    CHECK_FALSE(is_image(name, {}));
  }
  CHECK(is_image_file("/nonexistent/file"));  // true, so that a later read reports the failure
}

TEST_CASE("files that are not images are left out of class folders and reported once") {
  const Mixed mixed;
  const Opened opened(mixed.folder / "set");
  CHECK(described(*opened.data) == mixed.expected);
  CHECK(opened.warnings == Texts{mixed.folder / "set" + kSentence});
}

TEST_CASE("images and other files beside the class folders are reported") {
  TempFolder t;
  t.write("cat/a.jpg", jpeg_text(1));
  t.write("loose.jpg", jpeg_text(2));
  t.write("other.jpg", jpeg_text(3));
  t.write("README.txt", "our cats");
  const Opened opened(t.path());
  CHECK(opened.data->size() == 1);
  REQUIRE(opened.warnings.size() == 1);
  CHECK_THAT(opened.warnings[0], Contains("1 file ") && Contains("(README.txt)") &&
                                     Contains("2 images") && Contains("beside the class folders") &&
                                     Contains("(loose.jpg, …)"));
}

TEST_CASE("a class folder without an image is refused") {
  TempFolder t;
  t.write("cat/a.jpg", jpeg_text(1));
  t.write("notes/README.txt", "our cats");
  CHECK_THAT(message_of(t.path()), (Contains("no image") && Contains("notes/README.txt")));
}

TEST_CASE("a cached listing knows the files it left out and notices when one becomes an image") {
  const Mixed mixed;
  const TempFolder cache;
  std::ofstream(mixed.folder / "set/notes.txt") << "notes";
  const auto then = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const auto& entry : fs::recursive_directory_iterator(mixed.folder.path()))
    fs::last_write_time(entry.path(), then);
  OpenOptions options;
  options.cache_dir = cache.path();
  const auto size = [&] {
    const Opened opened(mixed.folder / "set", options);
    CHECK(opened.warnings.size() == 1);
    return opened.data->size();
  };
  CHECK(size() == 4);
  CHECK(load_listing(cache.path(), mixed.folder / "set"));
  CHECK(size() == 4);
  // Overwriting a file does not change its folder's modification time. A file outside the class
  // folders cannot become a sample, so the cached listing stays valid.
  std::ofstream(mixed.folder / "set/notes.txt") << "more";
  CHECK(load_listing(cache.path(), mixed.folder / "set"));
  std::ofstream(mixed.folder / "set/dog/empty") << jpeg_text(9);
  CHECK(size() == 5);
}

TEST_CASE("files that are not images are left out of tars of every layout") {
  const Mixed mixed;
  const TempFolder& t = mixed.folder;
  t.write("set.tar", make_tar(mixed.all));
  t.write("classes/cat.tar", make_tar(below(mixed.all, "cat/")));
  t.write("classes/dog.tar", make_tar(below(mixed.all, "dog/")));
  t.write("nested.tar", make_tar({{"cat.tar", make_tar(below(mixed.all, "cat/"))},
                                  {"README.txt", "cats and dogs"},
                                  {"dog.tar", make_tar(below(mixed.all, "dog/"))}}));
  for (const Reads reads : {Reads::seeking, Reads::forward}) {
    OpenOptions options;
    options.reads = reads;
    for (const char* name : {"set.tar", "classes", "nested.tar"}) {
      INFO(name);
      const Opened opened(t / name, options);
      CHECK(described(*opened.data) == mixed.expected);
      REQUIRE(opened.warnings.size() == 1);
      const char* const files = name == std::string("nested.tar") ? "8 files" : "7 files";
      CHECK_THAT(opened.warnings[0], Contains(files) && Contains("2 hidden files"));
    }
  }
  CHECK(Opened(t / "set.tar").warnings == Texts{t / "set.tar" + kSentence});
  CHECK_THAT(Opened(t / "classes").warnings[0], Contains("(cat.tar:README.txt, "));
}

TEST_CASE("files left out of a tar are reported again when its list comes from the cache") {
  TempFolder t;
  const TempFolder cache;
  t.write("set.tar", make_tar(Mixed().all));
  age_file(t / "set.tar");
  OpenOptions options;
  options.cache_dir = cache.path();
  const Texts first = Opened(t / "set.tar", options).warnings;
  CHECK_FALSE(fs::is_empty(cache.path()));
  options.progress = [](int64_t count) { CHECK(count == 0); };  // nothing is scanned
  CHECK(Opened(t / "set.tar", options).warnings == first);
}

TEST_CASE("files that are not images need no label, and a manifest may name them") {
  TempFolder t;
  t.write("flat/1.jpg", "a");
  t.write("flat/2.jpg", "b");
  t.write("flat/README.txt", "ours");
  t.write("labels", "1 cat\n2 dog\n");
  OpenOptions options;
  options.labels = t / "labels";
  const Opened flat(t / "flat", options);
  CHECK(described(*flat.data) == Texts{"0 cat 1.jpg a", "1 dog 2.jpg b"});
  CHECK_THAT(flat.warnings.at(0),
             Contains("1 file that is not an image") && Contains("(README.txt)"));
  t.write("a.manifest", R"(["flat/1.jpg", "flat/README.txt", "flat/2.jpg"])");
  const Opened manifest(t / "a.manifest");
  CHECK(manifest.data->size() == 2);
  CHECK_THAT(manifest.warnings.at(0), Contains("1 file"));
}

TEST_CASE("packed sets and rewritten class folders have only images") {
  const Mixed mixed;
  const TempFolder& t = mixed.folder;
  const auto data = open_dataset(t / "set");
  const PackSummary packed = write_pack(*data, t / "set.pack", {});
  CHECK((packed.images == 3 && packed.damaged == 1));  // damaged: dog/d.JPEG
  const auto ignore = [](const auto&) {};
  const ArrangeSummary arranged =
      arrange(*data, t / "made", Arrangement::folders, 1, ignore, ignore);
  CHECK((arranged.images == 4 && arranged.damaged == 0));  // arrange() copies damaged images too
}
