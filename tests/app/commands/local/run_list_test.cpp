#include "app/commands/local/run_list.h"

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/commands/local/local_commands.h"
#include "app/options/options.h"
#include "base/error.h"
#include "base/file/file_lock.h"
#include "tests/support/capture.h"
#include "tests/support/files.h"
#include "tests/support/temporary_directory.h"

using namespace shoal;
using app::RunRow;
using Catch::Contains;
using test::write_text;
namespace fs = std::filesystem;

namespace {

const std::string kTwoEpochs =
    R"({"event":"train","epoch":0,"acc1_average":1,"timing":{"images_per_sec":10},"time":"2026-01-01T00:00:00Z"})"
    "\n"
    R"({"event":"valid","epoch":0,"acc1":50.5,"acc5":90,"time":"2026-01-01T00:01:00Z"})"
    "\n"
    R"({"event":"train","epoch":1,"step_in_epoch":1,"timing":{"images_per_sec":20}})"
    "\n"
    R"({"event":"train","epoch":1,"step_in_epoch":4,"timing":{"images_per_sec":40}})"
    "\n"
    R"({"event":"valid","epoch":1,"acc1":40,"time":"2026-01-01T00:02:00Z"})"
    "\n";

}  // namespace

TEST_CASE("runs are found with model, best accuracy, epochs, speed, state and time") {
  const test::TemporaryDirectory folder;
  write_text(folder.path() / "b/x/history.jsonl", kTwoEpochs);
  write_text(folder.path() / "b/x/config.toml", "[model]\n# model = \"resnet18\"  # default\n");
  write_text(folder.path() / "a/history.jsonl", kTwoEpochs);
  write_text(folder.path() / "a/summary.json",
             R"({"outcome":"complete","ended":"2026-01-01T00:03:00Z","epoch":2,"best":{"acc1":51},)"
             R"("model":{"name":"resnet50"},"settings":{"epochs":3}})");
  write_text(folder.path() / "a/checkpoints/manifest.json", "{}");
  write_text(folder.path() / "c/notes.txt", "no run");
  const auto rows = app::find_runs(folder.path());
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].name == "a");
  CHECK(rows[0].model == "resnet50");
  CHECK(rows[0].top1 == 51);
  CHECK(rows[0].epochs == 2);
  CHECK(rows[0].epochs_requested == 3);
  CHECK(*rows[0].images_per_second == Approx(21));  // 10, then one step at 20 and three at 40
  CHECK(rows[0].state == "complete");
  CHECK(rows[0].time == "2026-01-01T00:03:00Z");
  CHECK(rows[0].notes.empty());
  CHECK(rows[1].name == "b/x");
  CHECK(rows[1].model == "resnet18");
  CHECK(rows[1].top1 == 50.5);
  CHECK(rows[1].epochs == 2);
  CHECK(rows[1].state == "unfinished");
  CHECK(rows[1].time == "2026-01-01T00:02:00Z");
  CHECK(app::find_runs(folder.path() / "a").at(0).name == (folder.path() / "a").string());
  CHECK_THROWS_WITH(app::find_runs(folder.path() / "gone"), Contains("gone' does not exist"));
  CHECK_THROWS_WITH(app::find_runs(folder.path() / "c/notes.txt"), Contains("is not a folder"));
}

TEST_CASE("a run whose lock is held is running, also with an old summary") {
  const test::TemporaryDirectory folder;
  write_text(folder.path() / "summary.json", R"({"outcome":"stopped"})");
  CHECK(app::find_runs(folder.path()).at(0).state == "stopped");
  {
    const FileLock lock(folder.path() / ".lock", "run", "--output");
    CHECK(app::find_runs(folder.path()).at(0).state == "running");
  }
  CHECK(app::find_runs(folder.path()).at(0).state == "stopped");
}

TEST_CASE("a run that trained after its summary is unfinished") {
  const test::TemporaryDirectory folder;
  const auto state_with = [&](const char* time) {
    write_text(folder.path() / "history.jsonl",
               R"({"event":"train","epoch":0,"step":1,"time":")" + std::string(time) + "\"}\n" +
                   R"({"event":"valid","epoch":0,"step":1,"time":"2026-03-01T00:00:00Z"})" + "\n");
    return app::find_runs(folder.path()).at(0).state;
  };
  write_text(folder.path() / "summary.json",
             R"({"outcome":"complete","ended":"2026-02-01T00:00:00Z"})");
  CHECK(state_with("2026-01-31T00:00:00Z") == "complete");
  CHECK(state_with("2026-02-02T00:00:00Z") == "unfinished");
}

TEST_CASE(
    "the requested epochs are those of the last start; a limit on time or steps removes them") {
  const test::TemporaryDirectory folder;
  const auto asked = [&](const std::string& config) {
    write_text(folder.path() / "config.toml", "[general]\n" + config);
    return app::find_runs(folder.path()).at(0).epochs_requested;
  };
  const std::string unlimited =
      "# max-steps =  # default: no limit\n# time-budget = 0  # default\n";
  CHECK(asked("epochs = 400  # command line\n" + unlimited) == 400);
  CHECK(asked("# epochs = 90  # default\n" + unlimited) == 90);
  CHECK_FALSE(asked("epochs = 9  # command line\nmax-steps = 2  # command line\n"));
  CHECK_FALSE(asked("epochs = 9  # command line\ntime-budget = 2.5  # command line\n"));
  write_text(folder.path() / "summary.json", R"({"outcome":"complete","settings":{"epochs":3}})");
  CHECK(asked("epochs = 5  # command line\n" + unlimited) == 5);
  CHECK(asked("") == 3);

  CHECK(asked("epochs = 1.5  # command line\n" + unlimited) == 1.5);
}

TEST_CASE("a run that ended within an epoch counts the part of the epoch that it trained") {
  const test::TemporaryDirectory folder;
  const auto printed = [&] {
    app::Arguments arguments;
    arguments.paths = {folder.path().string()};
    return test::capture([&] { return app::runs_command({arguments, {}, dist::Variables{}}); }).out;
  };
  const auto summary = [&](const std::string& epoch, const std::string& train) {
    write_text(folder.path() / "summary.json",
               R"({"outcome":"complete","ended":"2026-01-01T00:03:00Z","epoch":)" + epoch +
                   R"(,"steps_per_epoch":8,"train":{)" + train + "}}");
  };
  write_text(folder.path() / "history.jsonl", kTwoEpochs);
  write_text(folder.path() / "config.toml", "[general]\nepochs = 1.5  # command line\n");
  summary("1", R"("epoch":1,"step_in_epoch":4)");
  CHECK(app::find_runs(folder.path()).at(0).epochs == 1.5);
  CHECK_THAT(printed(), Contains(" 1.5/1.5 "));
  // An unfinished epoch is not rounded up.
  summary("1", R"("epoch":1,"step_in_epoch":7.9)");
  CHECK_THAT(printed(), Contains(" 1.9/1.5 "));
  summary("2", R"("epoch":1,"step_in_epoch":8)");
  CHECK(app::find_runs(folder.path()).at(0).epochs == 2);
  // The run ended after 3 of 18 steps, and evaluated then. It counts as a sixth of an epoch.
  write_text(folder.path() / "history.jsonl",
             kTwoEpochs.substr(0, kTwoEpochs.find("\n{\"event\":\"train\"")));
  write_text(folder.path() / "config.toml", "[general]\nmax-steps = 3  # command line\n");
  write_text(folder.path() / "summary.json",
             R"({"outcome":"complete","ended":"2026-01-01T00:03:00Z","epoch":0,)"
             R"("steps_per_epoch":18,"train":{"epoch":0,"step_in_epoch":3}})");
  CHECK_THAT(printed(), Contains(" 0.2 "));
  // A later start has finished the epoch, but was killed before it wrote a summary.
  write_text(folder.path() / "history.jsonl",
             R"({"event":"train","epoch":0,"time":"2026-01-01T00:04:00Z"})"
             "\n"
             R"({"event":"valid","epoch":0,"acc1":1,"time":"2026-01-01T00:05:00Z"})"
             "\n");
  CHECK(app::find_runs(folder.path()).at(0).epochs == 1);
}

TEST_CASE("torn histories, missing files and files of other versions are read as far as possible") {
  const test::TemporaryDirectory folder;
  write_text(folder.path() / "torn/history.jsonl",
             kTwoEpochs + R"({"event":"valid","epoch":2,"acc)");
  write_text(folder.path() / "damaged/history.jsonl", "xx\n" + kTwoEpochs);
  write_text(folder.path() / "no-history/summary.json",
             R"({"outcome":"failed","epoch":"2","best":7,"model":[],"settings":null,"ended":5})");
  write_text(folder.path() / "bad-summary/summary.json", "{");
  write_text(folder.path() / "other/history.jsonl", R"({"event":7,"epoch":"x"})"
                                                    "\n"
                                                    R"({"kind":"valid","value":[1]})"
                                                    "\n[1]\n");
  const auto rows = app::find_runs(folder.path());
  REQUIRE(rows.size() == 5);
  CHECK(rows[0].name == "bad-summary");
  REQUIRE(rows[0].notes.size() == 1);
  CHECK_THAT(rows[0].notes[0], Contains("summary.json cannot be read"));
  REQUIRE(rows[1].notes.size() == 1);
  CHECK_THAT(rows[1].notes[0], Contains("1 unreadable line"));
  CHECK(rows[1].top1 == 50.5);
  CHECK(rows[2].state == "failed");
  CHECK_FALSE((rows[2].top1 || rows[2].epochs || rows[2].images_per_second));
  CHECK(rows[3].name == "other");
  CHECK_FALSE(rows[3].top1);
  CHECK(rows[4].top1 == 50.5);
  REQUIRE(rows[4].notes.size() == 1);
  CHECK_THAT(rows[4].notes[0], Contains("the last line is incomplete"));
}

TEST_CASE("runs are sorted by each column, and those without its value come last") {
  const test::TemporaryDirectory folder;
  const auto write_run = [&](const std::string& name, const std::string& model,
                             const std::string& values, int speed) {
    write_text(folder.path() / name / "summary.json",
               R"({"model":{"name":")" + model + "\"}," + values + "}");
    if (speed > 0)
      write_text(folder.path() / name / "history.jsonl",
                 R"({"event":"train","epoch":0,"step_in_epoch":1,"timing":{"images_per_sec":)" +
                     std::to_string(speed) + "}}\n");
  };
  write_run("gamma", "w",
            R"("outcome":"complete","best":{"acc1":20},"epoch":2,"ended":"2026-01-04T00:00:00Z")",
            40);
  write_run("delta", "x", R"("outcome":"failed")", 0);
  write_run("beta", "y",
            R"("outcome":"stopped","best":{"acc1":30},"epoch":1,"ended":"2026-01-03T00:00:00Z")",
            20);
  write_run("alpha", "z",
            R"("outcome":"complete","best":{"acc1":10},"epoch":3,"ended":"2026-01-02T00:00:00Z")",
            30);
  const auto printed_with = [&](std::vector<std::string> words) {
    words.push_back(folder.path().string());
    const app::Arguments arguments = app::parse(app::Command::runs, words);
    return test::capture([&] { return app::runs_command({arguments, {}, dist::Variables{}}); });
  };
  const std::map<std::string, std::string> expected = {
      {"name", "alpha beta delta gamma "},  {"model", "gamma delta beta alpha "},
      {"state", "alpha gamma delta beta "}, {"time", "gamma beta alpha delta "},
      {"top1", "beta gamma alpha delta "},  {"epochs", "alpha gamma beta delta "},
      {"speed", "gamma alpha beta delta "}};
  for (const auto& [column, names] : expected) {
    INFO(column);
    const auto json = printed_with({"--sort", column, "--json"});
    std::string order;
    for (const auto& row : nlohmann::json::parse(json.out))
      order += row.at("name").get<std::string>() + " ";
    CHECK(order == names);
    const std::string table = printed_with({"--sort", column}).out;
    std::string last;  // the first word of the last line
    std::istringstream(table.substr(table.rfind('\n', table.size() - 2) + 1)) >> last;
    CHECK(names.ends_with(" " + last + " "));
  }
  CHECK(printed_with({"--json"}).out == printed_with({"--sort", "name", "--json"}).out);
  CHECK_THROWS_WITH(app::parse(app::Command::runs, {"--sort", "accuracy", "runs"}),
                    Contains("sort") && Contains("accuracy") && Contains("top1"));
}

TEST_CASE("names of runs are printed without control characters, each on one line") {
  const test::TemporaryDirectory folder;
  write_text(folder.path() / "x\n * Acc@1 99.900 Acc@5 99.900\033[2J" / "history.jsonl",
             kTwoEpochs);
  app::Arguments arguments;
  arguments.paths = {folder.path().string()};
  const auto printed = test::capture([&] {
    return app::runs_command({arguments, {}, dist::Variables{}});
  });
  CHECK(printed.code == 0);
  CHECK(std::count(printed.out.begin(), printed.out.end(), '\n') == 2);
  CHECK_THAT(printed.out, Contains("x\\n * Acc@1") && Contains("50.500") && !Contains("\033"));
}
