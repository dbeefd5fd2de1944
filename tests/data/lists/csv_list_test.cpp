#include "data/lists/csv_list.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "data/folder/image_folder.h"
#include "data/sources/images.h"
#include "data/sources/location.h"
#include "tests/data/sources/support.h"

using namespace shoal::data;
using Catch::Contains;
using Texts = std::vector<std::string>;

namespace {

// A folder with the images cat/1.jpg, cat/2.jpg and dog/1.jpg, whose contents are a, b and c.
class Lists : public TempFolder {
 public:
  Lists() {
    write("cat/1.jpg", std::string("a"));
    write("cat/2.jpg", std::string("b"));
    write("dog/1.jpg", std::string("c"));
  }
  // Writes the list and describes its images.
  Texts described_as(const std::string& text, const std::string& name = "list.csv") const {
    write(name, text);
    return described(*open_dataset(*this / name));
  }
  // Writes the list and returns the message of the error that opening it throws.
  std::string refused(const std::string& text, const std::string& name = "list.csv") const {
    write(name, text);
    return message_of(*this / name);
  }
};

const Texts kAll = {"0 cat 1.jpg a", "0 cat 2.jpg b", "1 dog 1.jpg c"};

void check_equal(const Dataset& a, const Dataset& b) {
  REQUIRE(a.size() == b.size());
  CHECK(a.classes() == b.classes());
  for (int64_t i = 0; i < a.size(); ++i) {
    INFO(a.name(i));
    CHECK(a.name(i) == b.name(i));
    CHECK(a.label(i) == b.label(i));
    CHECK(a.key(i) == b.key(i));
    CHECK(content(a, i) == content(b, i));
  }
}

}  // namespace

TEST_CASE("a CSV file lists images with their classes, in any order") {
  const Lists t;
  CHECK(t.described_as("path,label\ndog/1.jpg,dog\ncat/2.jpg,cat\ncat/1.jpg,cat\n") == kAll);
  CHECK(resolve(t / "list.csv").kind == Location::Kind::csv_list);
  CHECK(t.described_as("path,label\ndog/1.jpg,x") == Texts{"0 x 1.jpg c"});
  std::filesystem::create_symlink("../list.csv", t / "dog/link.csv");
  t.write("list.csv", std::string("path,label\n1.jpg,x"));
  CHECK(described(*open_dataset(t / "dog/link.csv")) == Texts{"0 x 1.jpg c"});
  CHECK(t.described_as("PATH,Label\n" + t / "dog/1.jpg" + ",x", "a.CSV") == Texts{"0 x 1.jpg c"});
}

TEST_CASE("the columns are found by name, and other columns are ignored") {
  const Lists t;
  for (const char* image : {"path", "file", "filename", "file_name", "filepath", "image",
                            "image_path", "Image_ID", "img", "name", "ID"})
    for (const char* label : {"class", "label", "label_name", "Category", "target", "y"})
      CHECK(t.described_as("split," + std::string(label) + ",note," + image +
                           "\ntrain,dog,,dog/1.jpg\n") == Texts{"0 dog 1.jpg c"});
  // The order of the accepted names counts (`path` before `id`), not the order of the columns.
  CHECK(t.described_as("id,y,path,class\n7,0,dog/1.jpg,dog\n") == Texts{"0 dog 1.jpg c"});
}

TEST_CASE("a column that names splits is ignored with a warning") {
  const Lists t;
  const auto warnings = [&](const std::string& column, const std::string& a, const std::string& b) {
    t.write("list.csv", "path,label," + column + "\ncat/1.jpg,cat," + a + "\ndog/1.jpg,dog," + b +
                            "\ncat/2.jpg,cat," + a + "\n");
    const Opened opened(t / "list.csv");
    CHECK(opened.data->size() == 3);
    return opened.warnings.empty() ? "" : opened.warnings.at(0);
  };
  for (const char* column : {"split", "Set", "fold", "SUBSET"})
    CHECK_THAT(warnings(column, "train", "val"),
               Contains("list.csv") && Contains("'" + std::string(column) + "' ('train', 'val')"));
  CHECK(warnings("split", "train", "train").empty());
  CHECK(warnings("note", "train", "val").empty());
  std::string many = "path,label,set\n";
  for (int i = 0; i < 11; ++i) many += "cat/1.jpg,cat," + std::to_string(i) + "\n";
  t.write("list.csv", many);
  for (const std::string& warning : Opened(t / "list.csv").warnings)
    CHECK_THAT(warning, !Contains("'set'"));
}

TEST_CASE("a column that names splits is found without opening the images") {
  const Lists t;
  const auto column = [&](const std::string& text) {
    t.write("list.csv", text);
    return split_column(t / "list.csv");
  };
  CHECK(column("path,label,Split\nno/1.jpg,a,train\nno/2.jpg,b,\"val\"\nno/3.jpg,b,val\n") ==
        "the column 'Split' ('train', 'val')");
  CHECK(column("path,fold\n1.jpg,0\n2.jpg,1\n3.jpg,2\n") == "the column 'fold' ('0', '1', '2')");
  CHECK(column("path,label,split\n1.jpg,a,train\n").empty());
  CHECK(column("path,label,note\n1.jpg,a,train\n2.jpg,a,val\n").empty());
  CHECK(column("note,split\n1.jpg,train\n2.jpg,val\n").empty());  // no list of images
  CHECK(column("").empty());
  CHECK(column("path,split\n\"1.jpg,train\n").empty());  // a quote without an end
  CHECK(split_column(t / "nowhere.csv").empty());
}

TEST_CASE("fields are quoted as in RFC 4180") {
  const Lists t;
  t.write("a \"b\", c\n.jpg", std::string("d"));
  const Texts expected = {"0 big, \"old\"\ncat a \"b\", c\n.jpg d", "1 dog 1.jpg c"};
  const std::string text =
      "\"path\",label,\"a\nnote\"\n\"a \"\"b\"\", c\n.jpg\",\"big, \"\"old\"\"\ncat\",\n"
      "dog/1.jpg,dog,\"\"\n";
  CHECK(t.described_as(text) == expected);
  CHECK(t.described_as("path,label\n \"dog/1.jpg\" , \"a;b\" \n") == Texts{"0 a;b 1.jpg c"});
  CHECK(t.described_as("path,label\ndog/1.jpg,5\" disk\n") == Texts{"0 5\" disk 1.jpg c"});
}

TEST_CASE("a list may have CRLF line ends, a byte order mark, blanks and empty lines") {
  const Lists t;
  CHECK(t.described_as("\xEF\xBB\xBFpath , label\r\n\r\n cat/1.jpg, cat\r\ncat/2.jpg ,cat \r\n"
                       "\"dog/1.jpg\",\"dog\"\r\n\r\n") == kAll);
}

TEST_CASE("columns are separated by tabs in .tsv files, by semicolons if there is no comma") {
  const Lists t;
  CHECK(t.described_as("path\tlabel\ncat/1.jpg\tcat, old\ndog/1.jpg\t dog\n", "l.tsv") ==
        Texts{"0 cat, old 1.jpg a", "1 dog 1.jpg c"});
  CHECK(t.described_as("path;label\ncat/1.jpg;cat, old\n") == Texts{"0 cat, old 1.jpg a"});
  CHECK(t.described_as("path,label\ncat/1.jpg,a;b\n") == Texts{"0 a;b 1.jpg a"});
}

TEST_CASE("a list has the order, names and keys of the same images in class folders") {
  Lists t;
  // In a listing, cat-x follows cat/…, and cat/a-b follows cat/a/…. Sorted as text, these paths
  // would have the reverse order, because '-' comes before '/'.
  for (const char* name : {"cat-x/1.jpg", "cat/a/9.jpg", "cat/a-b/1.jpg", "cat/3", "dog/10.jpg"})
    t.write(name, made_jpeg(1));
  const auto folder = open_image_folder(t.path());
  std::string lines = "image,label\n";
  for (int64_t i = folder->size() - 1; i >= 0; --i)
    lines += folder->name(i).substr(t.path().size() + 1) + "," +
             folder->classes()[static_cast<size_t>(folder->label(i))] + "\n";
  t.write("list.csv", lines);
  check_equal(*open_dataset(t / "list.csv"), *folder);
}

TEST_CASE("classes that are numbers are sorted by value, others by name") {
  const Lists t;
  const auto classes = [&](const std::string& a, const std::string& b, const std::string& c) {
    t.write("list.csv", "path,y\ncat/1.jpg," + a + "\ncat/2.jpg," + b + "\ndog/1.jpg," + c + "\n");
    return open_dataset(t / "list.csv")->classes();
  };
  CHECK(classes("10", "9", "100") == Texts{"9", "10", "100"});
  CHECK(classes("1.0", "-1", "0") == Texts{"-1", "0", "1.0"});
  CHECK(classes("10", "9", "nan") == Texts{"10", "9", "nan"});
  CHECK(classes("10", "9", "n9") == Texts{"10", "9", "n9"});
  CHECK(classes("9", "9", "9") == Texts{"9"});
  CHECK(t.described_as("path,y\ncat/1.jpg,10\ndog/1.jpg,9\n") ==
        Texts{"0 9 1.jpg c", "1 10 1.jpg a"});
}

TEST_CASE("names without an extension name the image beside the list") {
  const Lists t;
  t.write("ids/0f.3a.PNG", std::string("d"));
  t.write("ids/0f.3a.txt", std::string("no image"));
  t.write("ids/0f.3a.b.png", std::string("another image"));
  t.write("ids/plain", made_jpeg(1));
  t.write("ids/plain.jpg", std::string("e"));
  t.write("ids/shot.jpg.png", std::string("f"));
  t.write("list.csv", "id,label\nids/0f.3a,x\nids/plain,x\n");
  const auto list = open_dataset(t / "list.csv");
  REQUIRE(list->size() == 2);
  CHECK(list->name(0) == t / "ids/0f.3a.PNG");
  CHECK(list->name(1) == t / "ids/plain");
  CHECK_THAT(t.refused("id,label\nids/shot.jpg,x\n"), Contains("line 2") && Contains("shot.jpg"));
  t.write("ids/0f.3a.jpg", std::string("g"));
  CHECK_THAT(t.refused("id,label\nids/0f.3a,x\n"),
             Contains("line 2") && Contains("0f.3a.PNG") && Contains("0f.3a.jpg"));
}

TEST_CASE("a list may name images in a folder beside it, as on Kaggle") {
  for (const std::string folder : {"train", "train_images", "images"}) {
    INFO(folder);
    const TempFolder t;
    t.write("train.csv", "id,label\n7,cat\na/8.jpg,dog\n");
    t.write(folder + "/7.jpg", "c");
    t.write(folder + "/a/8.jpg", "d");
    const auto list = open_dataset(t / "train.csv");
    CHECK(described(*list) == Texts{"0 cat 7.jpg c", "1 dog 8.jpg d"});
    CHECK(list->name(0) == t / folder + "/7.jpg");
    t.write("7.jpg", "e");  // images in the list's own folder take precedence
    CHECK_THAT(message_of(t / "train.csv"),
               Contains("line 3") && Contains("the image " + t / "a/8.jpg does not exist"));
  }
}

TEST_CASE("a missing image is an error that names file and line") {
  const Lists t;
  CHECK_THAT(t.refused("path,label\ncat/1.jpg,cat\n\nfox/1.jpg,fox\ncat/3.jpg,cat\n"),
             Contains("list.csv line 4") && Contains("fox/1.jpg"));
  CHECK_THAT(t.refused("path,label,note\ncat/1.jpg,cat,\"two\nlines\"\ncat/3.jpg,cat,\n"),
             Contains("list.csv line 4") && Contains("cat/3.jpg"));
  CHECK_THAT(t.refused("path,label\n" + std::string(5000, 'x') + "/1.jpg,cat\n"),
             Contains("line 2"));
  CHECK_THAT(t.refused("path,label\ncat/1.jpg/2.jpg,cat\n"), Contains("line 2"));
  CHECK_THAT(t.refused("path,label\ncat,cat\n"), Contains("line 2"));
  REQUIRE(::mkfifo((t / "cat/pipe.jpg").c_str(), 0600) == 0);
  CHECK_THAT(t.refused("path,label\ncat/pipe.jpg,cat\n"), Contains("line 2"));
}

TEST_CASE("the error for a missing image says what may be wrong with its path") {
  const Lists t;
  CHECK_THAT(t.refused("path,label\nhttps://x.org/a.jpg,cat\n"),
             Contains("line 2") && Contains("https://x.org/a.jpg is a URL"));
  CHECK_THAT(t.refused("path,label\ns3://a.jpg,cat\n"), Contains("s3://a.jpg is a URL"));
  CHECK_THAT(t.refused("path,label\nC:/a.jpg,cat\n"),
             Contains("C:/a.jpg does not exist") && !Contains("URL"));
  CHECK_THAT(t.refused("path,label\n.\\cat\\1.jpg,cat\n"),
             Contains("line 2") && Contains("write / instead of \\"));
  CHECK_THAT(t.refused("path,label\ncaf\xe9/1.jpg,cat\n"),
             Contains("line 2") && Contains("not UTF-8"));
  t.write("caf\xe9/1.jpg", std::string("d"));
  CHECK(t.described_as("path,label\ncaf\xe9/1.jpg,cat\n") == Texts{"0 cat 1.jpg d"});
}

TEST_CASE("a class that is not UTF-8 is an error that names file and line") {
  const Lists t;
  CHECK_THAT(t.refused("path,label\ncat/1.jpg,cat\ndog/1.jpg,caf\xe9\n"),
             Contains("list.csv line 3") && Contains("not UTF-8") && Contains("iconv"));
}

TEST_CASE("keys of absolute paths do not depend on how the list's path is written") {
  const Lists t;
  t.write("pets.csv",
          "path,label\n" + t.path() + "/cat/1.jpg,pet\nfile://" + t.path() + "/dog/1.jpg,pet\n");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(t / "cat");
  for (const std::string& path :
       {t / "pets.csv", t / "dog/../pets.csv", std::string("../pets.csv")}) {
    INFO(path);
    const auto list = open_dataset(path);
    CHECK(list->name(1) == t / "dog/1.jpg");
    CHECK((list->key(0) == "cat/1.jpg" && list->key(1) == "dog/1.jpg"));
  }
  std::filesystem::current_path(t.path());
  const auto list = open_dataset("pets.csv");
  CHECK((list->key(0) == "cat/1.jpg" && list->key(1) == "dog/1.jpg"));
  std::filesystem::current_path(before);
}

TEST_CASE("paths of a list without a folder are those in the list") {
  const Lists t;
  t.write("list.csv", "path,label\n./cat/1.jpg,cat\ndog//1.jpg,dog\n");
  t.write("cat/flat.csv", "path,label\n1.jpg,cat\n2,cat\n");
  t.write("others.csv", "path,label\ncat/1.jpg,pet\n");  // the class is not the folder's name
  const std::string key = open_dataset(t / "list.csv")->key(0);
  CHECK(open_dataset(t / "others.csv")->key(0) == "cat/1.jpg");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(t.path());
  const auto list = open_dataset("list.csv");
  CHECK((list->name(0) == "cat/1.jpg" && list->name(1) == "dog/1.jpg"));
  CHECK((list->key(0) == key && content(*list, 1) == "c"));
  CHECK(open_dataset("others.csv")->key(0) == "cat/1.jpg");
  CHECK(open_dataset("cat/flat.csv")->name(1) == "cat/2.jpg");
  t.write("missing.csv", "path,label\ncat/7.jpg,cat\n");
  CHECK_THAT(message_of("missing.csv"), Contains("the image cat/7.jpg does"));
  std::filesystem::current_path(t / "cat");
  CHECK(open_dataset("flat.csv")->name(1) == "2.jpg");
  std::filesystem::current_path(before);
}

TEST_CASE("an image that is listed twice is used once, and must have one class") {
  const Lists t;
  t.write("list.csv", "path,label\ndog/1.jpg,dog\n./dog//1.jpg,dog\ncat/1.jpg,cat\ndog/1,dog\n");
  OpenOptions options;
  std::string warnings;
  options.warning = [&](const std::string& text) { warnings += text; };
  CHECK(described(*open_dataset(t / "list.csv", options)) ==
        Texts{"0 cat 1.jpg a", "1 dog 1.jpg c"});
  CHECK_THAT(warnings, Contains("2 lines") && Contains("(line 3, …)"));
  CHECK_THAT(t.refused("path,label\ncat/1.jpg,cat\ndog/1.jpg,dog\ncat/1.jpg,dog\n"),
             Contains("line 4") && Contains("line 2") && Contains("'dog'") && Contains("'cat'"));
  CHECK_THAT(t.refused("path,label\ncat/1,cat\ncat/1.jpg,dog\n"),
             Contains("line 3") && Contains("line 2"));
}

TEST_CASE("listed files that are not images are left out and create no class") {
  const Lists t;
  t.write("cat/notes.txt", std::string("no image"));
  t.write("list.csv", "path,label\ncat/notes.txt,text\ncat/1.jpg,cat\n");
  OpenOptions options;
  std::string warnings;
  options.warning = [&](const std::string& text) { warnings += text; };
  CHECK(described(*open_dataset(t / "list.csv", options)) == Texts{"0 cat 1.jpg a"});
  CHECK_THAT(warnings, Contains("cat/notes.txt"));
  CHECK_THAT(t.refused("path,label\ncat/notes.txt,text\n"), Contains("no image"));
}

TEST_CASE("a header without the columns is refused with the accepted names") {
  const Lists t;
  CHECK_THAT(t.refused("picture,label\ncat/1.jpg,cat\n"),
             Contains("list.csv") && Contains("'picture'") && Contains("image_id"));
  CHECK_THAT(t.refused("image,breed\ncat/1.jpg,cat\n"),
             Contains("'breed'") && Contains("label_name"));
  CHECK_THAT(t.refused("\ncat/1.jpg,cat\ncat/2.jpg,cat\n"),
             Contains("line 2: the first line must be a header") && Contains("'cat/1.jpg'") &&
                 Contains("name or id"));
  CHECK_THAT(t.refused("image,Labels\ncat/1.jpg,cat\n"),
             Contains("did you mean 'label' by 'labels'?"));
  CHECK_THAT(t.refused("image,breed\ncat/1.jpg,cat\n"), !Contains("did you mean"));
  CHECK_THAT(t.refused(""), Contains("empty"));
  CHECK_THAT(t.refused("\n\r\n"), Contains("empty"));
  CHECK_THAT(t.refused("path,label\n\n"), Contains("no image"));
}

TEST_CASE("malformed lines are refused, and the error names the line") {
  const Lists t;
  CHECK_THAT(t.refused("path,label\ncat/1.jpg\n"), Contains("line 2") && Contains("1 column,"));
  CHECK_THAT(t.refused("path,label\n\ncat/1.jpg,cat,old\n"),
             Contains("line 3") && Contains("3 columns"));
  CHECK_THAT(t.refused("path,label\ncat/1.jpg,\n"), Contains("line 2") && Contains("class"));
  CHECK_THAT(t.refused("path,label\n,cat\n"), Contains("line 2") && Contains("name"));
  CHECK_THAT(t.refused("path,label\ncat/,cat\n"), Contains("line 2") && Contains("name"));
  CHECK_THAT(t.refused("path,label\ncat/1.jpg,cat\n\"cat/2.jpg,cat\n\n"),
             Contains("line 3") && Contains("not closed"));
  CHECK_THAT(t.refused("path,label\n\"cat/1.jpg\"x,cat\n"), Contains("line 2"));
  CHECK_THAT(t.refused(std::string("path,label\ncat/1.jpg,a\0b\n", 26)),
             Contains("line 2") && Contains("zero byte"));
  CHECK_THAT(t.refused(std::string("\xFF\xFEp\0a\0t\0h\0", 10)), Contains("zero byte"));
  CHECK_THAT(t.refused("path" + std::string(1'000'000, ',')), Contains("10,000 columns"));
}

TEST_CASE("--val-labels is refused for a list") {
  const Lists t;
  t.write("list.csv", "path,label\ncat/1.jpg,cat\n");
  OpenOptions options;
  options.labels = t / "list.csv";
  CHECK_FALSE(message_of(t / "list.csv", options).empty());
}

TEST_CASE("predict reads the images of a list in its order and needs no class") {
  const Lists t;
  t.write("list.csv", "id\ndog/1.jpg\ncat/2\ncat/1.jpg\n");
  const auto images = open_images({t / "list.csv"}, {});
  REQUIRE(images->size() == 3);
  CHECK(images->name(0) == t / "dog/1.jpg");
  CHECK(images->name(1) == t / "cat/2.jpg");
  CHECK(images->name(2) == t / "cat/1.jpg");
}

TEST_CASE("only an existing file is a list, and folders of images may contain lists") {
  const Lists t;
  CHECK_FALSE(resolve(t / "none.csv").exists);
  t.write("set.csv/cat/1.jpg", std::string("a"));
  CHECK(described(*open_dataset(t / "set.csv")) == Texts{"0 cat 1.jpg a"});
  t.write("set.csv/labels.csv", std::string("path,label\n"));
  CHECK(described(*open_dataset(t / "set.csv")) == Texts{"0 cat 1.jpg a"});

  t.write("flat/1.jpg", jpeg_text(1));
  CHECK_THAT(message_of(t / "flat"), !Contains("the list"));
  t.write("flat.csv", std::string("path,label\n"));
  for (const char* folder : {"flat", "flat/"})
    CHECK_THAT(message_of(t / folder), Contains("the list " + t / "flat.csv"));
}
