// Tests `shoal predict`: its sources, views (test-time augmentation) and output formats.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/support/program.h"

using namespace shoal;
using Catch::Contains;
using Words = std::vector<std::string>;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

// A barely trained model with three classes, and its images.
struct Model {
  test::TemporaryDirectory directory;
  const std::string data = (directory.path() / "data").string(),
                    run = (directory.path() / "run").string();

  Model() {
    test::make_images(data, 30, 9, 3, 48);
    // clang-format off
    const auto outcome = test::run_shoal({
        "train", "--data", data, "--output", run, "--model", "efficientnet_lite0", "--size", "32",
        "--batch-size", "10", "--epochs", "1", "--lr", "0.02"});
    // clang-format on
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
  }

  test::Outcome predict(Words words, int exit_code = 0) const {
    words.insert(words.begin(), {"predict", "--checkpoint", run});
    const auto outcome = test::run_shoal(words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == exit_code);
    return outcome;
  }
  std::vector<Json> json(Words words) const {
    words.insert(words.begin(), "--json");
    std::vector<Json> list;
    for (const std::string& line : test::lines_of(predict(words).out))
      list.push_back(Json::parse(line));
    return list;
  }
};

const Model& model() {
  static const Model one;
  return one;
}

}  // namespace

TEST_CASE("predict prints the top K classes with logits, as JSON, CSV and text") {
  const std::string image = model().data + "/val";
  const Json top = model().json({"--topk", "2", "--logits", image}).front();
  REQUIRE(top["top2"].size() == 2);
  CHECK(top["top2"][0]["logit"] > top["top2"][1]["logit"]);
  const Json all = model().json({"--topk", "9", "--logits", image}).front();
  REQUIRE(all["top9"].size() == 3);  // the model has no more classes
  double sum = 0;
  for (const Json& guess : all["top9"]) sum += std::exp(guess["logit"].get<double>());
  for (const Json& guess : all["top9"])
    CHECK(std::exp(guess["logit"].get<double>()) / sum ==
          Approx(guess["probability"].get<double>()).margin(1e-5));
  CHECK_FALSE(model().json({image}).front()["top5"][0].contains("logit"));

  const auto csv = test::lines_of(model().predict({"--csv", "--topk", "1", "--logits", image}).out);
  REQUIRE(csv.size() == 10);
  CHECK(csv[0] == "path,rank,class,probability,logit,error");
  CHECK(csv[1].back() == ',');  // no error
  const std::string row = csv[1].substr(0, csv[1].size() - 1);
  CHECK(std::atof(row.substr(row.rfind(',') + 1).c_str()) ==
        Approx(top["top2"][0]["logit"].get<double>()).margin(1e-5));
  const auto text = test::lines_of(model().predict({"--logits", "--topk", "1", image}).out);
  CHECK(std::regex_search(text[0], std::regex(R"([0-9.]+% \(-?\d+\.\d{3}\))")));
  CHECK_THAT(model().predict({"--topk", "0", image}, 2).err, Contains("--topk"));
  CHECK_THAT(model().predict({image + ".png"}, 1).err, Contains("1 of 1 images cannot be read"));
}

TEST_CASE("predict averages the logits of several views as eval does") {
  const Model& m = model();
  const auto eval =
      test::run_shoal({"eval", "--checkpoint", m.run, "--data", m.data, "--json", "--tta", "ten"});
  INFO(eval.err);
  REQUIRE(eval.exit_code == 0);
  double loss = 0;
  for (const Json& line : m.json({"--tta", "ten", m.data + "/val"})) {
    for (const Json& guess : line["top5"]) {
      const std::string name = guess["class"];
      if (line["path"].get<std::string>().find("/" + name + "/") != std::string::npos)
        loss -= std::log(guess["probability"].get<double>());
    }
  }
  CHECK(loss / 9 == Approx(Json::parse(eval.out)["loss"].get<double>()).epsilon(1e-4));
  CHECK(m.json({"--tta", "ten", m.data + "/val"}) != m.json({m.data + "/val"}));
}

TEST_CASE("predict reads packed sets, tars and patterns, with or without labels") {
  const Model& m = model();
  const std::string pack = (m.directory.path() / "val.pack").string();
  REQUIRE(test::run_shoal({"pack", m.data + "/val", pack}).exit_code == 0);
  const fs::path flat = m.directory.path() / "flat";
  fs::create_directories(flat);
  int number = 0;
  for (const auto& entry : fs::recursive_directory_iterator(m.data + "/val"))
    if (entry.is_regular_file())
      fs::copy_file(entry.path(), flat / (std::to_string(number++) + ".jpg"));
  const std::string tar = (m.directory.path() / "flat.tar").string();
  REQUIRE(std::system(("tar -C " + flat.string() + " -cf " + tar + " .").c_str()) == 0);

  const auto folder = m.json({m.data + "/val"}), packed = m.json({pack});
  REQUIRE(folder.size() == 9);
  REQUIRE(packed.size() == 9);
  for (size_t i = 0; i < 9; ++i) CHECK(packed[i]["top5"] == folder[i]["top5"]);
  const auto tarred = m.json({tar});
  CHECK(tarred.size() == 9);
  CHECK_THAT(tarred[0]["path"].get<std::string>(), Contains(tar + ":"));
  CHECK(m.json({flat.string() + "/[0-3].jpg"}).size() == 4);
  CHECK(m.json({pack, flat.string(), tar}).size() == 27);
}

TEST_CASE("predict keeps the order of a list on standard input with several processes") {
  const Model& m = model();
  const fs::path broken = m.directory.path() / "in place.jpg", list = m.directory.path() / "list";
  std::ofstream(broken) << "no image";
  std::vector<std::string> images;
  for (const auto& entry : fs::recursive_directory_iterator(m.data + "/val"))
    if (entry.is_regular_file()) images.push_back(entry.path());
  std::ofstream lines(list);
  for (size_t i = 0; i < images.size(); ++i)
    lines << images[i] << '\n' << (i == 3 ? broken.string() + "\n" : "");
  lines.close();
  const auto predict = [&](const std::string& nproc, const std::string& more, int exit_code) {
    const std::string command = "exec " + test::shoal_program() + " predict --checkpoint " + m.run +
                                " --json --batch-size 2 --nproc " + nproc + more + " - < " +
                                list.string();
    const auto outcome = test::run_program("sh", {"-c", command});
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == exit_code);
    std::vector<Json> rows;
    for (const std::string& line : test::lines_of(outcome.out)) rows.push_back(Json::parse(line));
    REQUIRE(rows.size() == images.size() + 1);
    return rows;
  };
  const auto one = predict("1", " --strict", 1), two = predict("2", "", 0);
  images.insert(images.begin() + 4, broken);
  for (size_t i = 0; i < images.size(); ++i) {
    INFO(images[i]);
    CHECK(one[i]["path"] == images[i]);
    CHECK(two[i]["path"] == images[i]);
    if (i == 4) {
      CHECK(one[i] == two[i]);
      CHECK_THAT(one[i]["error"].get<std::string>(), Contains("not a JPEG"));
      continue;
    }
    CHECK(one[i]["top5"][0]["class"] == two[i]["top5"][0]["class"]);
    CHECK(one[i]["top5"][0]["probability"].get<double>() ==
          Approx(two[i]["top5"][0]["probability"].get<double>()).epsilon(1e-4));
  }
}

TEST_CASE("predict skips files that are not images and reports a damaged image in its row") {
  const Model& m = model();
  const fs::path folder = m.directory.path() / "mixed";
  fs::copy(m.data + "/val", folder, fs::copy_options::recursive);
  std::ofstream(folder / "README.txt") << "images of mine";
  const auto stray = m.predict({"--json", folder.string()});
  CHECK(test::lines_of(stray.out).size() == 9);
  CHECK_THAT(stray.err, Contains("1 file") && Contains("README.txt"));
  CHECK(stray.err.find("README.txt") == stray.err.rfind("README.txt"));
  std::ofstream(folder / "broken.jpg") << "no image";
  const auto damaged = m.predict({"--json", folder.string()});
  CHECK_THAT(damaged.err, Contains("1 of 10 images cannot be read"));
  CHECK(test::lines_of(damaged.out).size() == 10);
  CHECK_THAT(damaged.out, Contains("broken.jpg\",\"error\":") && !Contains("null"));
}

TEST_CASE("the folder of a run in place of images is named as such") {
  const Model& m = model();
  CHECK_THAT(m.predict({m.run}, 2).err, Contains("is the folder of a run"));
  const std::string pack = (m.directory.path() / "run.pack").string();
  CHECK_THAT(test::run_shoal({"pack", m.run, pack}).err, Contains("is the folder of a run"));
  const std::string parent = fs::path(m.run).parent_path();
  CHECK_THAT(test::run_shoal({"report", parent}).err, Contains("`shoal report " + parent + "/*`"));
  const auto some = test::run_shoal({"report", m.run, m.data, "-o", parent + "/some.html"});
  CHECK(some.exit_code == 0);
  CHECK_THAT(some.err, Contains(m.data + " is left out"));
}

TEST_CASE("control characters in names are escaped in the output of commands") {
  const Model& m = model();
  const fs::path folder = m.directory.path() / "hostile";
  fs::create_directories(folder);
  const std::string name = "a\033c\nforged\xc2\x9b";  // ESC c resets a terminal; U+009B is ESC [
  fs::copy_file(test::first_file(m.data + "/val"), folder / (name + ".jpg"));
  const auto check_escaped = [](const test::Outcome& outcome) {
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK_THAT(outcome.out, Contains(R"(a\x1bc\nforged)"));
    CHECK_THAT(outcome.out + outcome.err, !Contains("\033") && !Contains("\xc2\x9b"));
  };
  check_escaped(m.predict({folder.string()}));
  check_escaped(m.predict({"--csv", folder.string()}));
  CHECK(m.json({folder.string()}).front()["path"] == (folder / (name + ".jpg")).string());
  CHECK_THAT(m.predict({"--json", folder.string()}).out, !Contains("\xc2\x9b"));

  const fs::path weights = folder / (name + ".safetensors");
  const Json entry = {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {0, 4}}};
  const std::string header = Json{{"fc." + name, entry}}.dump();
  const uint64_t length = header.size();
  std::ofstream out(weights, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out << header << "four";
  out.close();
  const auto inspected = test::run_shoal({"inspect", "--tensors", weights.string()});
  check_escaped(inspected);
  CHECK_THAT(inspected.out, Contains(R"(fc.a\x1bc\nforged)"));

  const std::string pack = folder / (name + ".pack");
  check_escaped(test::run_shoal({"pack", m.data + "/val", pack}));
  check_escaped(test::run_shoal({"pack", "--info", pack}));

  fs::create_directory_symlink(m.run, folder / name);
  check_escaped(test::run_shoal({"report", folder / name}));
  const auto listed = test::run_shoal(
      {"weights", "torchvision:resnet50", "--weights-cache", folder / "a\033c.cache"});
  INFO(listed.out << listed.err);
  CHECK(listed.exit_code == 0);
  CHECK_THAT(listed.out, Contains(R"(a\x1bc.cache)") && !Contains("\033"));
}

TEST_CASE("no row of predict or inspect is taken for a metric line because of a name") {
  const Model& m = model();
  const fs::path folder = m.directory.path() / "metrics";
  fs::create_directories(folder);
  const Words names = {" * Acc@1 99.900 Acc@5 99.000",
                       "train:loss=1; step=2;",
                       "valid:acc1=99; ",
                       "Epoch: [0][ 1|2]  Loss 1.0 (2.0)",
                       "[default0]:Total time: 5 seconds",
                       "worker-1 | train:loss=2;"};
  std::vector<std::regex> metrics;
  for (const Json& metric : Json::parse(test::run_shoal({"metrics", "--definitions"}).out))
    metrics.emplace_back(metric["Regex"].get<std::string>());
  REQUIRE_FALSE(metrics.empty());
  const auto check = [&](Words words, const std::string& ending) {
    // Run shoal in the folder, so that rows begin with ./ and the name.
    words.insert(words.begin(), {"-c", "cd \"$0\" && exec \"$@\"", folder, test::shoal_program()});
    const auto outcome = test::run_program("sh", words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    for (const std::string& name : names)
      CHECK_THAT("\n" + outcome.out, Contains("\n./" + name + ending));
    for (const std::string& line : test::lines_of(outcome.out))
      for (const std::regex& metric : metrics)
        if (std::regex_search(line, metric)) FAIL_CHECK(line);
  };
  Words images;
  const auto image = test::first_file(m.data + "/val");
  for (const std::string& name : names) fs::copy_file(image, folder / (name + ".jpg"));
  for (const std::string& name : names) images.push_back(name + ".jpg");
  for (const Words& format : {Words{}, Words{"--csv"}}) {
    Words words = {"predict", "--checkpoint", m.run};
    words.insert(words.end(), format.begin(), format.end());
    words.insert(words.end(), images.begin(), images.end());
    check(words, ".jpg");
  }

  Json header;
  for (size_t i = 0; i < names.size(); ++i)
    header[names[i]] = {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {4 * i, 4 * i + 4}}};
  const std::string text = header.dump();
  const uint64_t length = text.size();
  std::ofstream out(folder / "hostile.safetensors", std::ios::binary);
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out << text << std::string(4 * names.size(), '0');
  out.close();
  check({"inspect", "--tensors", "hostile.safetensors"}, "");
}

TEST_CASE("predict takes the weights as the first word, and -o writes the rows to a file") {
  const Model& m = model();
  const std::string images = m.data + "/val", file = (m.directory.path() / "rows.csv").string();
  const std::string expected = m.predict({"--csv", images}).out;
  CHECK(test::lines_of(expected).size() > 9);
  for (const Words& words : {Words{"predict", m.run, images, "--csv"},
                             Words{"predict", "--csv", "--weights", m.run, images}}) {
    const auto outcome = test::run_shoal(words);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.out == expected);
  }
  const auto written = test::run_shoal({"predict", m.run, images, "--csv", "-o", file});
  INFO(written.err);
  CHECK(written.exit_code == 0);
  CHECK(written.out.empty());
  CHECK(test::read_text(file) == expected);
  fs::remove(file);
  const auto two = test::run_shoal({"predict", m.run, images, "--csv", "-o", file, "--nproc", "2"});
  INFO(two.err);
  CHECK(two.exit_code == 0);
  CHECK(test::read_text(file) == expected);

  // The ending selects the format.
  const std::string json = (m.directory.path() / "rows.jsonl").string();
  CHECK(test::run_shoal({"predict", m.run, images, "-o", json}).exit_code == 0);
  CHECK(test::read_text(json) == m.predict({"--json", images}).out);

  const std::string image = m.json({images}).front()["path"];
  const auto refusal = [](const Words& words) {
    const auto outcome = test::run_shoal(words);
    CHECK(outcome.exit_code == 2);
    return outcome.err;
  };
  CHECK_THAT(refusal({"predict", image, images}), Contains("no weights given"));
  CHECK_THAT(refusal({"predict", image, m.run}), Contains("write " + m.run + " before the images"));
  CHECK_THAT(refusal({"predict", m.run}), Contains("at least one image"));
  CHECK_THAT(refusal({"predict", "-", images}), Contains("no weights given"));
  CHECK_THAT(refusal({"predict", "none.pt", image}),
             Contains("error: none.pt: no such file") && !Contains("--weights"));
  CHECK_THAT(refusal({"predict", m.run, image, "-o", file + "/x.csv"}), Contains("--output"));
  CHECK_THAT(refusal({"predict", m.run, image, "-o", "-"}), Contains("omit --output"));
  CHECK_THAT(refusal({"predict", m.run, image, "--json", "-o", file}),
             Contains("contradicts --json"));
  const std::string before = test::read_text(image);
  CHECK_THAT(refusal({"predict", m.run, image, "-o", image}), Contains("is the input"));
  CHECK(test::read_text(image) == before);
  CHECK_THAT(m.predict({}, 2).err, Contains("at least one image"));
}
