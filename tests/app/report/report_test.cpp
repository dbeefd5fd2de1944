#include "app/report/report.h"

#include <openssl/sha.h>

#include <catch2/catch.hpp>
#include <regex>

#include "base/error.h"
#include "base/net/base64.h"
#include "tests/app/report/sample_run.h"
#include "tests/support/temporary_directory.h"

using namespace shoal;
using namespace shoal::app;
using namespace shoal::test;
using Catch::Contains;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct Sample {
  TemporaryDirectory directory;
  fs::path folder = directory.path() / "run";
  Sample() { write_sample_run(folder); }

  std::string page() const {
    const fs::path file = directory.path() / "report.html";
    write_report({folder.string()}, file);
    return read_text(file);
  }
  Json run() const { return data_in(page())["runs"][0]; }
};

int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++count;
  return count;
}

bool has_note(const Json& run, const std::string& words) {
  for (const Json& note : run["notes"])
    if (note.get<std::string>().find(words) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a report contains the numbers of the run's history") {
  const Json run = Sample().run();
  REQUIRE(run["name"] == "run");
  REQUIRE(run["summary"]["outcome"] == "complete");
  REQUIRE(run["settings"] == Json{{"lr", 0.125}, {"model", "resnet18"}});
  const Json& history = run["history"];
  REQUIRE(history["train"]["step"] == Json{5, 10, 20});
  REQUIRE(history["train"]["loss"] == Json{3.25, 2.5, 1.5});
  REQUIRE(history["train"]["images_per_sec"] == Json{105, 110, 120});
  REQUIRE(history["train"]["wait"] == Json{20, 20, 20});      // 0.1 of 0.5 seconds
  REQUIRE(history["train"]["time"] == Json{1.5, 6.5, 16.5});  // since the start
  REQUIRE(history["valid"]["acc1"] == Json{30, 42.5});
  REQUIRE(history["valid_ema"]["acc1"] == Json::array({31}));
  REQUIRE(history["steps_per_epoch"] == 10);
  REQUIRE(history["epochs"].size() == 2);
  const Json& epoch = history["epochs"][0];
  REQUIRE(epoch["epoch"] == 1);
  REQUIRE(epoch["loss"] == 3.0);
  REQUIRE(epoch["val_acc1"] == 30);
  REQUIRE(epoch["ema_acc1"] == 31);
  REQUIRE(epoch["deciding_acc1"] == 31);  // that of the averaged weights
  REQUIRE(epoch["best"] == false);
  REQUIRE(history["epochs"][1]["deciding_acc1"] == 42.5);
  REQUIRE(history["epochs"][1]["best"] == true);
  REQUIRE(epoch["images_per_sec"].get<double>() ==
          Approx(10 / (5 / 105.0 + 5 / 110.0)).epsilon(1e-5));
  REQUIRE(epoch["train_seconds"] == 4);
  // Two epochs of ten steps; each step takes 0.4 s, with 0.05 s of waiting. Three evaluations of
  // 1.5 s. The first process ran for 10 s, the second for 6.5 s.
  REQUIRE(history["phases"]["computing"] == 7);
  REQUIRE(history["phases"]["waiting"] == 1);
  REQUIRE(history["phases"]["evaluating"] == 4.5);
  REQUIRE(history["phases"]["rest"] == 4);
  const Json& utilization = history["utilization"];
  REQUIRE(utilization["cpu"] == Json{70, 60});
  REQUIRE(utilization["gpu.1.busy"] == Json{80, nullptr});
  REQUIRE(utilization["step"] == Json{10, 20});
}

TEST_CASE("a report shows the utilization during evaluations") {
  const Sample sample;
  const std::string whole = read_text(sample.folder / "history.jsonl");
  write_text(sample.folder / "history.jsonl",
             whole + R"({"event":"test","step":20,"timing":{"utilization":{"cpu":90}}})" + "\n");
  const Json utilization = sample.run()["history"]["utilization"];
  REQUIRE(utilization["cpu"] == Json{70, 60, 90});
  REQUIRE(utilization["step"] == Json{10, 20, 20});
}

TEST_CASE("a report lists every event, from the file of events if there is one") {
  const Sample sample;
  const auto names = [&] {
    std::vector<std::string> list;
    const Json events = sample.run()["history"]["events"];
    for (const Json& event : events) list.push_back(event["name"]);
    return list;
  };
  REQUIRE(names() == std::vector<std::string>{"start", "resume", "unreadable"});
  const Json event = sample.run()["history"]["events"][2];
  REQUIRE(event["step"] == 12);
  REQUIRE(event["time"] == 13);
  REQUIRE(event["values"] == Json{{"images", 2}});
  REQUIRE(sample.run()["history"]["events"][0]["values"]["hosts"] == Json{"one", "two"});
  fs::remove(sample.folder / "events.jsonl");  // as in runs of older versions
  REQUIRE(names() == std::vector<std::string>{"loss_spike"});
}

TEST_CASE("a report shows numbers that are smaller than a normal double") {
  const Sample sample;
  const std::string whole = read_text(sample.folder / "history.jsonl");
  write_text(sample.folder / "history.jsonl",
             whole + R"({"event":"train","step":21,"lr":1e-310,"timing":{}})" + "\n");
  const Json run = sample.run();
  REQUIRE(run["history"]["train"]["lr"].back() == 1e-310);
}

TEST_CASE("a report contains the evaluation, with the stored thumbnails") {
  const Json evaluation = Sample().run()["evaluation"];
  REQUIRE(evaluation["classes"] == Json{"cat", "dog", "fox"});
  REQUIRE(evaluation["top1"] == 70);
  REQUIRE(evaluation["confusion"].size() == 21);
  REQUIRE(evaluation["confusion"][2] == 8);  // largest first
  REQUIRE(evaluation["confusion"][5] == 7);
  REQUIRE(evaluation["per_class"]["recall"] == Json{0.8, 0.6, 0.7});
  REQUIRE(evaluation["per_class"]["precision"][2].is_null());
  REQUIRE(evaluation["calibration"]["bins"][0] == Json{0.9, 0.8, 30});
  const Json& worst = evaluation["worst"];
  REQUIRE(worst.size() == 2);
  REQUIRE(worst[0]["image"] == "data:image/jpeg;base64," + std::string(kThumbnail));
  REQUIRE_FALSE(worst[1].contains("image"));
}

TEST_CASE("a report refers to nothing outside its page") {
  const std::string page = Sample().page();
  REQUIRE_THAT(page, Contains("default-src 'none'") && Contains("connect-src 'none'"));
  REQUIRE_THAT(page, !Contains("sourceMappingURL") && !Contains("@import") && !Contains("url("));
  const std::regex reference("<[a-z][^<>]*\\s(?:src|href|action|srcset|data)=\"([^\"]*)\"");
  int links = 0;
  for (std::sregex_iterator it(page.begin(), page.end(), reference), end; it != end; ++it, ++links)
    REQUIRE((*it)[1].str().starts_with("data:"));
  REQUIRE(links == 1);  // the icon
}

TEST_CASE("the policy of a page allows exactly its two scripts") {
  const std::string page = Sample().page();
  const auto allowed = [&](const std::string& script) {
    std::vector<uint8_t> digest(SHA256_DIGEST_LENGTH);
    ::SHA256(reinterpret_cast<const uint8_t*>(script.data()), script.size(), digest.data());
    return page.find("'sha256-" + base64(digest) + "'") != std::string::npos;
  };
  const size_t first = page.find("<script>"), second = page.find("<script>", first + 1);
  REQUIRE(allowed(between(page, "<script>", "</script>", first)));
  REQUIRE(allowed(between(page, "<script>", "</script>", second)));
  REQUIRE_FALSE(allowed("alert(1)"));
  REQUIRE(occurrences(page, "'sha256-") == 2);
  REQUIRE_THAT(page, !Contains("script-src 'unsafe"));
}

TEST_CASE("names from a run cannot become part of the page") {
  const Sample sample;
  const std::string clean = sample.page();
  const std::string evil = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>";
  const std::string odd = std::string("a\0b\x1b[31m\r\n\xff", 11) + "\u2028&quot;";
  Json evaluation = test::evaluation();
  evaluation["classes"] = {evil, "\u2028&quot;\x1b[31m", "fox"};
  write_text(sample.folder / "evaluation.json", evaluation.dump());
  Json summary = {{"outcome", evil}, {"settings", {{evil, odd}}}};
  write_text(sample.folder / "summary.json",
             summary.dump(-1, ' ', false, Json::error_handler_t::replace));
  write_text(sample.folder / "events.jsonl", Json{{"event", evil}, {evil, evil}}.dump() + "\n");
  const std::string page = sample.page();
  for (const char* part : {"<script", "</script", "<img", "<!--", "onerror=alert(1)>"})
    REQUIRE(occurrences(page, part) == occurrences(clean, part));
  for (const char c : between(page, "id=\"data\">", "</script>"))
    REQUIRE(static_cast<unsigned char>(c) >= 0x20);
  const Json run = data_in(page)["runs"][0];
  REQUIRE(run["evaluation"]["classes"] == evaluation["classes"]);
  REQUIRE(run["summary"]["outcome"] == evil);
  REQUIRE(run["history"]["events"][0]["name"] == evil);
}

TEST_CASE("a report of a long run with a thousand classes stays small") {
  const Sample sample;
  std::string history;
  double sum = 0;
  for (int i = 1; i <= 6000; ++i) {
    history += train_row(i / 1000, i % 1000, i, 1.0 / i);
    sum += 1.0 / i;
  }
  write_text(sample.folder / "history.jsonl", history);
  Json evaluation = test::evaluation();
  evaluation["classes"] = evaluation["per_class"] = evaluation["confusion"] = Json::array();
  for (int i = 0; i < 1000; ++i) {
    evaluation["classes"].push_back("class " + std::to_string(i));
    evaluation["per_class"].push_back(
        {{"images", 50}, {"precision", 0.5}, {"recall", 0.5}, {"f1", 0.5}});
    for (int k = 0; k < 60; ++k) evaluation["confusion"].push_back({i, (i + k) % 1000, 1 + k % 3});
  }
  const Json image = evaluation["worst"][0];
  for (int i = 0; i < 1000; ++i) evaluation["worst"].push_back(image);
  write_text(sample.folder / "evaluation.json", evaluation.dump());
  const std::string page = sample.page();
  REQUIRE(page.size() < 2'000'000);
  const Json run = data_in(page)["runs"][0];
  const Json& train = run["history"]["train"];
  REQUIRE(train["rows_per_point"] == 4);
  REQUIRE(train["loss"].size() == 1500);
  REQUIRE(train["step"][0] == 4);
  REQUIRE(train["step"][1499] == 6000);
  REQUIRE(train["loss"][0].get<double>() == Approx((1 + 1 / 2. + 1 / 3. + 1 / 4.) / 4));
  double shown = 0;
  for (const Json& loss : train["loss"]) shown += 4 * loss.get<double>();
  REQUIRE(shown == Approx(sum).epsilon(1e-5));
  REQUIRE(run["evaluation"]["worst"].size() == 60);
  REQUIRE(run["evaluation"]["confusion"].size() == 150'000);
  REQUIRE(has_note(run, "50000"));
}

TEST_CASE("incomplete and foreign files of a run are left out with a note") {
  const Sample sample;
  const std::string whole = read_text(sample.folder / "history.jsonl");
  REQUIRE(sample.run()["notes"].empty());

  write_text(sample.folder / "history.jsonl", whole + "{\"event\":\"train\",\"lo");
  REQUIRE(has_note(sample.run(), "last line is incomplete"));
  REQUIRE(sample.run()["history"]["train"]["step"].size() == 3);
  write_text(sample.folder / "history.jsonl", "\x01garbage\n[1]\n" + whole);
  REQUIRE(has_note(sample.run(), "2 damaged lines"));
  REQUIRE(sample.run()["history"]["train"]["step"].size() == 3);

  write_text(sample.folder / "summary.json", R"({"version":"0.0.7"})");
  REQUIRE(has_note(sample.run(), "shoal 0.0.7"));
  // The history's rows are dated 2026-01-02, so this summary is older.
  write_text(sample.folder / "summary.json",
             R"({"outcome":"complete","ended":"2026-01-01T00:00:00.000Z"})");
  REQUIRE(has_note(sample.run(), "an earlier start"));
  REQUIRE(sample.run()["summary"].empty());
  write_text(sample.folder / "summary.json",
             R"({"outcome":"complete","ended":"2026-01-03T00:00:00.000Z"})");
  REQUIRE(sample.run()["summary"]["outcome"] == "complete");
  fs::remove(sample.folder / "summary.json");
  REQUIRE(has_note(sample.run(), "no summary.json"));

  Json evaluation = test::evaluation();
  evaluation["worst"][0]["label"] = 3;
  write_text(sample.folder / "evaluation.json", evaluation.dump());
  REQUIRE(sample.run()["evaluation"].is_null());
  REQUIRE(has_note(sample.run(), "label 3"));
  evaluation["format"] = 2;
  write_text(sample.folder / "evaluation.json", evaluation.dump());
  REQUIRE(has_note(sample.run(), "format 1"));
  fs::remove(sample.folder / "evaluation.json");
  REQUIRE(has_note(sample.run(), "no evaluation.json"));
}

TEST_CASE("folders that are not runs are named") {
  const Sample sample;
  const fs::path empty = sample.directory.path() / "empty";
  fs::create_directories(empty);
  REQUIRE_THROWS_AS(report_data({empty.string()}, false), UserError);
  REQUIRE_THROWS_WITH(report_data({sample.folder.string(), empty.string()}, false),
                      Contains(empty.string()) && Contains("history.jsonl"));
  REQUIRE_THROWS_WITH(report_data({"/nowhere"}, false), Contains("/nowhere' does not exist"));
}

TEST_CASE("a report replaces only a report or an empty file") {
  const Sample sample;
  const fs::path history = sample.folder / "history.jsonl", page = sample.directory.path() / "page";
  const std::string before = read_text(history);
  REQUIRE_THROWS_WITH(write_report({sample.folder.string()}, history), Contains(history.string()));
  REQUIRE(read_text(history) == before);
  write_text(page, "");
  for (int i = 0; i < 2; ++i) write_report({sample.folder.string()}, page);
  REQUIRE(read_text(page).starts_with("<!doctype html>"));
}

TEST_CASE("several runs are in one report, and its stamp changes with their files") {
  const Sample sample;
  const fs::path other = sample.directory.path() / "other/";
  write_sample_run(other);
  const std::vector<std::string> runs = {sample.folder.string(), other.string()};
  const Json data = Json::parse(report_data(runs, true));
  REQUIRE(data["live"] == true);
  REQUIRE(data["runs"].size() == 2);
  REQUIRE(data["runs"][1]["name"] == "other");
  write_sample_run(sample.directory.path() / "copy" / "other");
  const Json same = Json::parse(
      report_data({other.string(), (sample.directory.path() / "copy/other").string()}, false));
  REQUIRE(same["runs"][1]["name"] == "copy/other");
  REQUIRE(same["runs"][0]["name"] != "other");
  const std::string before = report_stamp(runs);
  REQUIRE(report_stamp(runs) == before);
  std::ofstream(other / "history.jsonl", std::ios::app) << train_row(1, 11, 21, 1);
  REQUIRE(report_stamp(runs) != before);
}
