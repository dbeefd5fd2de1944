// Tests what eval reports about a model, and that training writes the same.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <utility>

#include "base/text.h"
#include "tests/support/program.h"

using namespace shoal;
using Catch::Contains;
using Words = std::vector<std::string>;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr int kImages = 11;

// A barely trained model with three classes, and its images. The name of one class contains control
// characters and imitates a log line.
struct Model {
  test::TemporaryDirectory directory;
  const fs::path root = directory.path();
  const std::string data = root / "data", run = root / "run";

  Model() {
    test::make_images(data, 24, kImages, 3, 40);
    const std::string name = fs::directory_iterator(data + "/val")->path().filename();
    for (const char* split : {"/train/", "/val/"})
      fs::rename(data + split + name, data + split + "red \x1b[31m\n * Acc@1 100.000");
    // clang-format off
    const auto outcome = test::run_shoal({
        "train", "--data", data, "--output", run, "--model", "mobilenet_v3_small", "--size", "32",
        "--batch-size", "8", "--epochs", "1", "--lr", "0.02", "--ema", "0.5", "--print-freq", "1"});
    // clang-format on
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
  }
};

const Model& model() {
  static const Model one;
  return one;
}

test::Outcome eval(Words words, int exit_code = 0) {
  words.insert(words.begin(), {"eval", "--data", model().data});
  const auto outcome = test::run_shoal(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == exit_code);
  return outcome;
}

Json read_json(const fs::path& path) {
  return Json::parse(test::read_text(path));
}

std::vector<Json> rows_of(const fs::path& path) {
  std::vector<Json> rows;
  for (const std::string& line : test::lines_of(test::read_text(path)))
    rows.push_back(Json::parse(line));
  return rows;
}

// Returns the records of a CSV file, read as RFC 4180 says, but with line feeds between records.
std::vector<Words> csv_of(const fs::path& path) {
  std::vector<Words> records;
  Words record;
  std::string field;
  bool quoted = false;
  const std::string text = test::read_text(path);
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '"' && text.substr(i + 1, 1) == "\"") {
      field += text[++i];
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && (text[i] == ',' || text[i] == '\n')) {
      record.push_back(std::exchange(field, ""));
      if (text[i] == '\n') records.push_back(std::exchange(record, {}));
    } else {
      field += text[i];
    }
  }
  REQUIRE((!quoted && record.empty() && field.empty()));  // the last line is complete
  return records;
}

// Returns the fields of the CSV row that corresponds to a JSON object in a file of predictions.
// Rounds losses, probabilities and logits to float.
std::map<std::string, std::string> fields_of(const Json& row, size_t classes) {
  const auto number = [](const Json& value) {
    return value.is_null() ? "" : strf("%.9g", static_cast<double>(value.get<float>()));
  };
  std::map<std::string, std::string> fields = {{"path", row.at("path")},
                                               {"label", row.at("label").dump()},
                                               {"class", row.at("class")},
                                               {"loss", number(row.value("loss", Json()))},
                                               {"error", row.value("error", "")}};
  const Json top = row.value("top5", Json::array()), logits = row.value("logits", Json::array());
  for (size_t i = 0; i < 5; ++i) {
    const bool any = i < top.size();
    fields["predicted" + std::to_string(i + 1)] = any ? top[i].at("class").get<std::string>() : "";
    fields["probability" + std::to_string(i + 1)] = any ? number(top[i].at("probability")) : "";
  }
  for (size_t i = 0; i < classes; ++i)
    fields["logit" + std::to_string(i)] = i < logits.size() ? number(logits[i]) : "";
  return fields;
}

// Evaluates twice, once for each format of the predictions, and checks that their contents are
// equal. Returns the JSON objects.
std::vector<Json> same_predictions(Words words) {
  const fs::path csv = model().root / "same.csv", json = model().root / "same.jsonl";
  for (const fs::path& file : {csv, json}) {
    Words all = {model().run, "--logits", "--predictions", file};
    all.insert(all.end(), words.begin(), words.end());
    eval(all);
  }
  const std::vector<Words> table = csv_of(csv);
  const std::vector<Json> rows = rows_of(json);
  REQUIRE(table.size() == rows.size() + 1);
  const Words& header = table[0];
  CHECK(joined(header, ",") ==
        "path,label,class,loss,predicted1,probability1,predicted2,probability2,predicted3,"
        "probability3,predicted4,probability4,predicted5,probability5,error,logit0,logit1,logit2");
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto expected = fields_of(rows[i], 3);
    REQUIRE(table[i + 1].size() == header.size());
    for (size_t column = 0; column < header.size(); ++column) {
      INFO(rows[i].dump() << " " << header[column]);
      CHECK(table[i + 1][column] == expected.at(header[column]));
    }
  }
  return rows;
}

// Checks the figures of an evaluation against the logits of its images.
void check_figures(const Json& figures, const std::vector<Json>& rows) {
  std::map<std::pair<int, int>, int> confusion;
  double loss = 0, confidence = 0;
  int right = 0;
  for (const Json& row : rows) {
    const auto logits = row.at("logits").get<std::vector<double>>();
    const int label = row.at("label");
    const auto best = std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit - *best);
    ++confusion[{label, static_cast<int>(best - logits.begin())}];
    right += best - logits.begin() == label;
    loss += std::log(sum) + *best - logits[size_t(label)];
    confidence += 1 / sum;
    CHECK(row.at("top5")[0].at("probability").get<double>() == Approx(1 / sum).epsilon(1e-5));
    CHECK(row.at("top5")[0].at("label") == best - logits.begin());
  }
  CHECK(figures.at("top1").get<double>() == Approx(100.0 * right / kImages));
  CHECK(figures.at("loss").get<double>() == Approx(loss / kImages).epsilon(1e-4));
  Json sparse = Json::array();
  for (const auto& [pair, count] : confusion) sparse.push_back({pair.first, pair.second, count});
  CHECK(figures.at("confusion") == sparse);
  double from_bins = 0;
  for (const Json& bin : figures.at("calibration").at("bins"))
    from_bins += bin.at("images").get<double>() * bin.at("confidence").get<double>();
  CHECK(figures.at("calibration").at("bins").size() == 15);
  CHECK(from_bins == Approx(confidence).epsilon(1e-4));
  for (size_t i = 1; i < figures.at("worst").size(); ++i)
    CHECK(figures["worst"][i - 1]["loss"].get<double>() >=
          figures["worst"][i]["loss"].get<double>());
}

}  // namespace

TEST_CASE("eval writes the figures of training, and those of its own predictions") {
  const Model& m = model();
  const fs::path out = m.root / "evaluation";
  // clang-format off
  const std::string text = eval({
      m.run, "--nproc", "2", "--batch-size", "2", "--output", out, "--predictions",
      m.root / "rows.jsonl", "--logits", "--details", "--suspects", "11"}).out;
  // clang-format on
  CHECK_THAT(text, Contains("calibration error") && Contains("most frequent confusions") &&
                       Contains("labels that may be wrong") && Contains("red \\x1b[31m\\n"));
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK_FALSE(std::regex_search(text, std::regex("[0-9]e-[0-9]+%")));
  CHECK(test::count_of(text, "\n * Acc@1") == 0);
  const std::vector<Json> rows = rows_of(m.root / "rows.jsonl");
  REQUIRE(rows.size() == kImages);
  for (size_t i = 1; i < rows.size(); ++i) CHECK(rows[i - 1]["label"] <= rows[i]["label"]);
  const Json own = read_json(out / "evaluation.json");
  check_figures(own, rows);
  const Json trained = read_json(fs::path(m.run) / "evaluation.json");
  CHECK(trained.at("ema") == true);
  CHECK(trained.at("format") == 1);
  for (const char* key :
       {"images", "top1", "top5", "classes", "confusion", "per_class", "epoch", "step"}) {
    INFO(key);
    CHECK(own.at(key) == trained.at(key));
  }
  REQUIRE(own.at("worst").size() == kImages);
  REQUIRE(trained.at("worst").size() == kImages);
  for (const char* key : {"path", "label", "predicted"})
    CHECK(own["worst"][0][key] == trained["worst"][0][key]);
  CHECK(fs::exists(trained["worst"][0]["path"].get<std::string>()));
}

TEST_CASE("predictions in CSV equal those in JSON lines, also of names with quotes") {
  const Model& m = model();
  const fs::path many = m.root / "many";
  size_t images = 0;
  for (const auto& folder : fs::directory_iterator(m.data + "/val")) {
    const fs::path to = many / folder.path().filename();
    fs::create_directories(to);
    for (const auto& entry : fs::directory_iterator(folder))
      for (int copy = 0; copy < 10; ++copy, ++images)
        fs::copy_file(entry, to / (strf("%zu, \"%d\"\n", images, copy) + ".jpg"));
  }
  REQUIRE(images == 10 * kImages);
  // eval accepts up to 1 % unreadable images: here, one of 111.
  const std::string broken = fs::directory_iterator(many)->path() / "a \"broken\", image.jpg";
  std::ofstream(broken) << "no image";
  size_t unreadable = 0;
  for (const Json& row : same_predictions({"--val", many})) {
    CHECK(row.contains("error") == (row.at("path") == broken));
    CHECK(row.contains("error") != row.contains("loss"));
    unreadable += row.contains("error");
  }
  CHECK(unreadable == 1);
}

TEST_CASE("the classes of --subset FILE have predictions, and the others have none") {
  const Model& m = model();
  Words names;  // class names without line feeds, which fit on a line of a file
  int excluded = -1;
  const Json classes = read_json(fs::path(m.run) / "classes.json");
  for (const auto& [name, label] : classes.items())
    if (name.find('\n') == name.npos)
      names.push_back(name);
    else
      excluded = label;
  REQUIRE(names.size() == 2);
  std::ofstream(m.root / "subset.txt") << names[1] << "\n\n" << names[0] << "\n";
  const fs::path part = m.root / "subset" / names[0];
  fs::create_directories(part.parent_path());
  fs::copy(fs::path(m.data) / "val" / names[0], part, fs::copy_options::recursive);
  const auto all = same_predictions({"--val", part.parent_path()});
  const auto some =
      same_predictions({"--val", part.parent_path(), "--subset", m.root / "subset.txt"});
  REQUIRE(some.size() == all.size());
  for (size_t i = 0; i < some.size(); ++i) {
    CHECK(all[i].at("top5").size() == 3);
    REQUIRE(some[i].at("top5").size() == 2);
    double sum = 0;
    for (const Json& guess : some[i]["top5"]) {
      CHECK(guess.at("label") != excluded);
      sum += guess.at("probability").get<double>();
    }
    CHECK(sum == Approx(1));
    for (int label = 0; label < 3; ++label)
      CHECK(some[i].at("logits")[size_t(label)] ==
            (label == excluded ? Json() : all[i].at("logits")[size_t(label)]));
  }
}

TEST_CASE("eval compares checkpoints, restricts classes, and accepts several right labels") {
  const Model& m = model();
  const std::string name = read_json(fs::path(m.run) / "classes.json").begin().key();
  const fs::path part = m.root / "part" / name;
  fs::create_directories(part.parent_path());
  fs::copy(fs::path(m.data) / "val" / name, part, fs::copy_options::recursive);
  Json real = Json::object();  // several labels for the first image, none for the others
  for (const auto& entry : fs::directory_iterator(part))
    real[entry.path().filename()] = real.empty() ? Json{0, 1, name} : Json::array();
  std::ofstream(m.root / "real.json") << real.dump();
  const auto all =
      eval({m.run, m.run + "/best", "--val", m.root / "part", "--json", "--subset", "data",
            "--details", "--suspects", "3", "--real-labels", m.root / "real.json"});
  const auto lines = test::lines_of(all.out);
  REQUIRE(lines.size() == 2);
  for (const std::string& line : lines) {
    const Json json = Json::parse(line);
    CHECK(json.at("acc1") == 100.0);  // only one class is left
    CHECK(json.at("loss").get<double>() == Approx(0).margin(1e-6));
    CHECK(json.at("real").at("acc1") == 100.0);
    CHECK(json.at("real").at("images") == 1);
    CHECK(json.at("real").at("without_labels") == json.at("images").get<int>() - 1);
    CHECK(json.at("per_class").size() == 3);
    CHECK(json.value("suspects", Json::array()).empty());
  }
  const auto table = test::lines_of(eval({m.run, m.run + "/best"}).out);
  REQUIRE(table.size() == 3);
  CHECK_THAT(table[0], Contains("Acc@1") && Contains("ECE"));
  CHECK_THAT(table[2], Contains("mobilenet_v3_small"));
  CHECK_THAT(eval({m.run, m.run, "--details"}, 2).err, Contains("--details needs a single"));
}

TEST_CASE("eval warns once if --forward-reads has no effect") {
  const Model& m = model();
  const std::string line = "--forward-reads has no effect";
  CHECK(test::count_of(eval({m.run, m.run, "--forward-reads"}).err, line) == 1);
  CHECK_THAT(eval({m.run}).err, !Contains(line));
  const fs::path tar = m.root / "val.tar";
  REQUIRE(
      test::run_program("/bin/tar", {"-cf", tar.string(), "-C", m.data + "/val", "."}).exit_code ==
      0);
  CHECK_THAT(eval({m.run, "--val", tar, "--forward-reads"}).err, !Contains(line));
}

TEST_CASE("eval and predict --no-ema use the weights that are not averaged") {
  const Model& m = model();
  const std::string trained = m.root / "not_averaged.safetensors";
  REQUIRE(test::run_shoal({"export", m.run, "--no-ema", "-o", trained}).exit_code == 0);
  const auto rows = [&](Words words) {
    words.insert(words.end(), {"--predictions", m.root / "rows.jsonl"});
    eval(words);
    return test::read_text(m.root / "rows.jsonl");
  };
  CHECK(rows({m.run, "--no-ema"}) == rows({trained}));
  CHECK(rows({"--checkpoint", m.run, "--no-ema"}) == rows({trained}));
  CHECK(rows({m.run}) != rows({trained}));
  const auto predicted = [&](const Words& weights) {
    Words words = {"predict", m.data + "/val", "--csv", "--weights"};
    words.insert(words.end(), weights.begin(), weights.end());
    const auto outcome = test::run_shoal(words);
    CHECK(outcome.exit_code == 0);
    return outcome.out;
  };
  CHECK(predicted({m.run, "--no-ema", "--nproc", "2"}) == predicted({trained}));
}

TEST_CASE("the suspects of several checkpoints are ordered by the mean loss over them") {
  const Model& m = model();
  const std::string averaged = m.run, trained = m.root / "trained.safetensors";
  const auto exported = test::run_shoal({"export", m.run, "--no-ema", "-o", trained});
  REQUIRE(exported.exit_code == 0);
  std::map<std::string, double> mean;  // path → mean loss, if either model gets the image wrong
  std::map<std::string, std::vector<double>> losses;
  std::map<std::string, bool> wrong;
  for (const std::string& weights : {averaged, trained}) {
    const fs::path file = m.root / "losses.jsonl";
    eval({weights, "--predictions", file});
    for (const Json& row : rows_of(file)) {
      const std::string path = row.at("path");
      losses[path].push_back(row.at("loss"));
      wrong[path] |= row.at("top5")[0].at("label") != row.at("label");
    }
  }
  for (const auto& [path, both] : losses) {
    REQUIRE(both.size() == 2);
    if (wrong[path]) mean[path] = (both[0] + both[1]) / 2;
  }
  REQUIRE(mean.size() > 3);
  for (const char* processes : {"1", "2"}) {
    const auto lines = test::lines_of(
        eval({averaged, trained, "--suspects", "99", "--json", "--nproc", processes}).out);
    REQUIRE(lines.size() == 2);
    CHECK_FALSE(Json::parse(lines[0]).contains("suspects"));
    const Json suspects = Json::parse(lines[1]).at("suspects");
    REQUIRE(suspects.size() == mean.size());
    double before = std::numeric_limits<double>::infinity();
    for (const Json& one : suspects) {
      CHECK(one.at("loss").get<double>() == Approx(mean.at(one.at("path"))).epsilon(1e-5));
      CHECK(one.at("loss").get<double>() <= before);
      before = one.at("loss");
    }
  }
  CHECK_THAT(eval({averaged, trained, "--suspects", "2"}).out,
             Contains("mean loss over these 2 checkpoints"));
}

TEST_CASE("eval refuses files and options that do not fit, with file and line") {
  const Model& m = model();
  const auto refused = [&](Words words) {
    words.insert(words.begin(), m.run);
    return eval(words, 2).err;
  };
  std::ofstream(m.root / "bad.json") << "[[0], [7]]";
  CHECK_THAT(refused({"--real-labels", m.root / "bad.json"}),
             Contains("--real-labels") && Contains("bad.json") && Contains("image 2"));
  std::ofstream(m.root / "names.txt") << "\nzebra\n";
  CHECK_THAT(refused({"--subset", m.root / "names.txt"}),
             Contains("names.txt line 2") && Contains("zebra"));
  CHECK_THAT(refused({"--predictions", m.root / "rows.txt"}), Contains(".csv"));
  CHECK_THAT(refused({"--predictions", m.root / "none/rows.csv"}),
             Contains("--predictions") && Contains("create it first"));
  CHECK_THAT(refused({"--output", "/proc/evaluation"}), Contains("--output /proc/evaluation"));
  CHECK_THAT(refused({"--output", m.run}),
             Contains("--output " + m.run + " is the folder of a run") &&
                 Contains("choose another folder"));
  // The missing file is reported before the first evaluation.
  const std::string missing = m.root / "missing.pt";
  CHECK_THAT(refused({missing}), Contains(missing) && !Contains("checkpoints/epoch-"));
  CHECK_THAT(refused({"--real-labels", m.root / "none.json"}),
             Contains("none.json does not exist"));
}
