// Tests what a run reports at its start, during training and at its end. Metrics must cover all
// ranks and belong to the weights with which they are stored.

#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/support/history.h"
#include "tests/support/program.h"
#include "train/checkpoint/checkpoint_store.h"

using namespace shoal;
using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct Run {
  Run() { test::make_images(root() / "data", 40, 20, 3, 40); }

  fs::path root() const { return directory.path(); }
  fs::path output() const { return root() / "run"; }
  std::vector<std::string> words(const std::vector<std::string>& more = {}) const {
    // clang-format off
    std::vector<std::string> words = {
        "train", "--data", (root() / "data").string(), "--output", output().string(),
        "--model", "efficientnet_b0", "--size", "32", "--batch-size", "5", "--epochs", "1", "--lr", "0.05",
        "--schedule", "constant", "--seed", "3"};
    // clang-format on
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  test::Outcome operator()(const std::vector<std::string>& more = {}) const {
    return test::run_shoal(words(more));
  }
  json read(const fs::path& file) const { return json::parse(test::read_text(file)); }
  json summary() const { return read(output() / "summary.json"); }

  test::TemporaryDirectory directory;
};

// Returns every file under `folder` with its size and modification time.
std::map<std::string, std::pair<uintmax_t, fs::file_time_type>> files_in(const fs::path& folder) {
  std::map<std::string, std::pair<uintmax_t, fs::file_time_type>> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files[entry.path().string()] = {entry.file_size(), entry.last_write_time()};
  return files;
}

}  // namespace

TEST_CASE("the best weights are exported with their own accuracy, or the last with --export last") {
  const Run run;
  const fs::path model = run.root() / "model";
  // The high learning rate of the last epochs ruins the weights.
  const auto first = run({"--epochs", "3", "--lr", "0.01"});
  INFO(first.err);
  REQUIRE(first.exit_code == 0);
  const auto ruined =
      run({"--epochs", "5", "--lr", "5", "--resume", "--export-dir", model.string()});
  INFO(ruined.err);
  REQUIRE(ruined.exit_code == 0);
  const auto best = train::CheckpointStore(run.output() / "checkpoints", 1).best();
  REQUIRE(best);
  REQUIRE(best->epoch < 5);

  const auto accuracy = [&](const fs::path& weights) {
    const auto outcome = test::run_shoal({"eval", "--checkpoint", weights.string(), "--data",
                                          (run.root() / "data").string(), "--json"});
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    return json::parse(outcome.out).at("acc1").get<double>();
  };
  const auto settings = run.read(model / "settings.json");
  CHECK(settings.at("weights") == "best");
  CHECK(settings.at("step") == best->step);
  CHECK(settings.at("top1").get<double>() == Approx(*best->top1));
  CHECK(accuracy(model) == Approx(*best->top1));
  CHECK_THAT(ruined.err, Contains("best weights, epoch " + std::to_string(best->epoch)));
  const json exported = run.summary().at("exported");
  CHECK(exported.at("weights") == "best");
  CHECK(exported.at("acc1").get<double>() == Approx(*best->top1));

  const auto last =
      run({"--resume", "--epochs", "5", "--export-dir", model.string(), "--export", "last"});
  INFO(last.err);
  REQUIRE(last.exit_code == 0);
  const auto last_settings = run.read(model / "settings.json");
  CHECK(last_settings.at("weights") == "last");
  CHECK(last_settings.at("epoch") == 5);
  CHECK(accuracy(model) == Approx(last_settings.at("top1").get<double>()));
}

TEST_CASE("a run without an evaluation exports its last weights and reports that") {
  const Run run;
  const fs::path model = run.root() / "model";
  const auto stopped = test::run_shoal(
      run.words({"--epochs", "1000", "--export-dir", model.string(), "--checkpoint-steps", "1"}),
      {}, [&, sent = false](pid_t group) mutable {
        if (!sent && fs::exists(run.output() / "checkpoints/manifest.json"))
          sent = ::kill(-group, SIGTERM) == 0;
        return false;
      });
  INFO(stopped.err);
  REQUIRE(stopped.exit_code == 143);
  CHECK_THAT(stopped.err, Contains("last weights") && Contains("not evaluated"));
  CHECK_FALSE(run.read(model / "settings.json").contains("top1"));
  CHECK(run.summary().at("outcome") == "stopped");
}

TEST_CASE("the summary stores numbers as JSON numbers, and all that is needed to repeat the run") {
  const Run run;
  REQUIRE(run({"--epochs", "2", "--nesterov"}).exit_code == 0);
  const json summary = run.summary();
  const json& settings = summary.at("settings");
  CHECK(settings.at("lr") == 0.05);
  CHECK(settings.at("size") == 32);
  CHECK(settings.at("nesterov") == true);
  CHECK(settings.at("model") == "efficientnet_b0");
  CHECK(summary.at("data").at("train") == (run.root() / "data/train").string());
  CHECK(summary.at("data").at("val") == (run.root() / "data/val").string());
  CHECK(summary.at("command").get<std::string>().starts_with("shoal train --data "));
  CHECK_THAT(test::run_shoal({"--version"}).out,
             Contains(summary.at("version").get<std::string>()) &&
                 Contains(summary.at("commit").get<std::string>()));
  const auto best = train::CheckpointStore(run.output() / "checkpoints", 1).best();
  CHECK(summary.at("best").at("acc1").get<double>() == Approx(*best->top1));
  CHECK(summary.at("best").at("step") == best->step);
  CHECK(summary.at("best").at("epoch") == best->epoch);
}

TEST_CASE("every history row has a time, and rows of an evaluation have the epoch and step") {
  const Run run;
  REQUIRE(run({"--epochs", "2", "--print-freq", "1"}).exit_code == 0);
  const std::regex utc(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)");
  int tests = 0;
  for (const json& row : test::rows(run.output() / "history.jsonl")) {
    CHECK(std::regex_match(row.at("time").get<std::string>(), utc));
    if (row.at("event") != "test") continue;
    CHECK(row.at("step") == 8 * (row.at("epoch").get<int>() + 1));
    ++tests;
  }
  CHECK(tests == 2 * 4);
}

TEST_CASE("a run that fails leaves a summary with the reason") {
  const Run run;
  const auto failed = run({"--lr", "1e30", "--non-finite-limit", "2"});
  CHECK(failed.exit_code == 1);
  const json summary = run.summary();
  CHECK(summary.at("outcome") == "failed");
  CHECK_THAT(summary.at("reason").get<std::string>(), Contains("not finite"));
  CHECK(summary.at("settings").at("lr") == 1e30);
  const std::string page = test::read_text(run.output() / "report.html");
  CHECK_THAT(page, Contains("not finite") && Catch::EndsWith("</html>\n"));
}

TEST_CASE("the progress bar shows the same averages as the log", "[terminal]") {
  const Run run;
  std::string command = "stty cols 220; exec '" + test::shoal_program() + "'";
  for (const auto& word : run.words({"--nproc", "2", "--print-freq", "1"}))
    command += " '" + word + "'";
  const auto seen =
      test::run_program("/usr/bin/script", {"-qec", command, "/dev/null"}, {"TERM=xterm"});
  REQUIRE(seen.exit_code == 0);
  const std::regex line(R"(Epoch: \[0\]\[(\d)/4\].*Loss \S+ \((\S+)\)\tAcc@1 +\S+ \( *(\S+)\))");
  const std::regex bar(R"(epoch 0  (\d)/4 .*?loss (\S+)  acc@1 ([0-9.]+)%)");
  std::map<int, std::pair<double, double>> logged;
  for (std::sregex_iterator it(seen.out.begin(), seen.out.end(), line), end; it != end; ++it)
    logged[std::stoi((*it)[1])] = {std::stod((*it)[2]), std::stod((*it)[3])};
  REQUIRE(logged.size() == 4);
  int bars = 0;
  for (std::sregex_iterator it(seen.out.begin(), seen.out.end(), bar), end; it != end; ++it) {
    const int step = std::stoi((*it)[1]);
    const auto& [loss, acc1] = logged.at(step);
    INFO(it->str());
    CHECK(std::stod((*it)[2]) == Approx(loss).margin(6e-4));
    CHECK(std::stod((*it)[3]) == Approx(acc1).margin(0.06));
    ++bars;
  }
  CHECK(bars >= 4);
}

TEST_CASE("a resumed run lists changed settings in one line and warns if the learning rate jumps") {
  const Run run;
  REQUIRE(run({"--epochs", "2", "--schedule", "cosine"}).exit_code == 0);
  const auto resumed = run({"--epochs", "4", "--schedule", "cosine", "--lr", "0.06", "--resume"});
  INFO(resumed.err);
  REQUIRE(resumed.exit_code == 0);
  CHECK_THAT(resumed.err, Contains("changed: epochs 2 → 4, lr 0.05 → 0.06\n"));
  CHECK_THAT(resumed.err, Contains("learning rate"));
  const auto same = run({"--epochs", "4", "--schedule", "cosine", "--lr", "0.06", "--resume"});
  CHECK_THAT(same.err, !Contains("changed:") && !Contains("learning rate"));
}

TEST_CASE("a drop of the learning rate by its schedule is not reported as a jump") {
  const Run run;
  const std::vector<std::string> dropping = {"--epochs",       "2", "--schedule", "step",
                                             "--decay-epochs", "1"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), dropping.begin(), dropping.end());
    return run(more);
  };
  REQUIRE(with({"--max-steps", "8"}).exit_code == 0);
  const auto resumed = with({"--label-smoothing", "0.1", "--resume"});
  REQUIRE(resumed.exit_code == 0);
  CHECK_THAT(resumed.err,
             Contains("changed: label_smoothing 0 → 0.1") && !Contains("learning rate"));
}

TEST_CASE("a run whose export failed is complete after a later export") {
  const Run run;
  const fs::path model = run.root() / "model";
  fs::create_directories(model / "model.safetensors");  // blocks the export
  CHECK(run({"--export-dir", model.string()}).exit_code == 1);
  CHECK(run.summary().at("outcome") == "failed");
  CHECK_THAT(run.summary().at("reason").get<std::string>(), Contains("model.safetensors"));
  fs::remove(model / "model.safetensors");
  CHECK(run({"--export-dir", model.string(), "--resume"}).exit_code == 0);
  CHECK(run.summary().at("outcome") == "complete");
  CHECK(run.summary().contains("exported"));
}

TEST_CASE(
    "a run that moved to another folder reports that its best weights are only the best there") {
  const Run run;
  REQUIRE(run({"--epochs", "2", "--lr", "0.01"}).exit_code == 0);
  const auto store = train::CheckpointStore(run.output() / "checkpoints", 1);
  const auto last = store.entries().front();
  const fs::path other = run.root() / "other", model = run.root() / "model";
  const auto moved = run({"--epochs", "3", "--lr", "3", "--resume", store.path(last).string(),
                          "--output", other.string(), "--export-dir", model.string()});
  INFO(moved.err);
  REQUIRE(moved.exit_code == 0);
  const auto best_there = train::CheckpointStore(other / "checkpoints", 1).best();
  REQUIRE(*best_there->top1 < *store.best()->top1);
  CHECK_THAT(moved.err, Contains("best evaluation of this run"));
  CHECK(run.read(model / "settings.json").at("top1").get<double>() == Approx(*best_there->top1));
}

TEST_CASE("a start with too little disk space for all checkpoints warns") {
  const Run run;
  const auto full = run({"--keep", "1000000000"});
  CHECK(full.exit_code == 0);
  CHECK_THAT(full.err, Contains("MB free") && Contains("--keep"));
}

TEST_CASE("a dry run checks everything and writes nothing") {
  const Run run;
  // Make the data look old. Otherwise even a run without --dry-run would cache no listings, because
  // the folders changed recently.
  for (const auto& entry : fs::recursive_directory_iterator(run.root() / "data"))
    fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(1));
  const auto tried = run({"--dry-run", "--nproc", "2"});
  INFO(tried.err);
  CHECK(tried.exit_code == 0);
  CHECK(tried.out.empty());
  CHECK_THAT(tried.err, Contains("memory ") && Contains("GB per checkpoint") &&
                            Contains("over 10 images") && Contains("classes=3"));
  CHECK_FALSE(fs::exists(run.output()));

  REQUIRE(run().exit_code == 0);
  std::smatch size;
  REQUIRE(std::regex_search(tried.err, size, std::regex("disk +([0-9.]+) GB per checkpoint")));
  const auto entry = train::CheckpointStore(run.output() / "checkpoints", 1).entries().front();
  CHECK(std::stod(size[1]) == Approx(static_cast<double>(entry.bytes) / 1e9).epsilon(0.05));
  const auto before = files_in(run.output());
  CHECK(run({"--dry-run", "--resume", "--epochs", "2"}).exit_code == 0);
  CHECK(run({"--dry-run"}).exit_code == 0);  // even if the output folder has an earlier run
  CHECK(run().exit_code == 2);
  CHECK(files_in(run.output()) == before);
  const auto unwritable = run({"--dry-run", "--resume", "--export-dir", "/proc/model"});
  CHECK(unwritable.exit_code == 2);
  CHECK_THAT(unwritable.err, Contains("--export-dir /proc/model") && Contains("cannot write"));

  for (const auto& entry : fs::recursive_directory_iterator(run.root() / "data"))
    if (entry.is_regular_file()) std::ofstream(entry.path(), std::ios::trunc) << "damaged";
  const auto unreadable = run({"--dry-run", "--resume", "--epochs", "2"});
  CHECK(unreadable.exit_code == 1);
  CHECK(unreadable.err.find("not finite") == std::string::npos);
  CHECK(files_in(run.output()) == before);
}

TEST_CASE("missing data is reported before anything else") {
  const Run run;
  REQUIRE(run().exit_code == 0);
  CHECK_THAT(run().err, Contains("earlier run"));
  const auto missing = run({"--data", (run.root() / "nowhere").string()});
  CHECK(missing.exit_code == 2);
  CHECK_THAT(missing.err, Contains("nowhere"));
  CHECK_THAT(run({"--train", (run.root() / "none").string()}).err, Contains("--train: "));
  const std::string empty = (run.root() / "empty").string();
  fs::create_directories(empty);
  CHECK_THAT(run({"--train", empty}).err, Contains(empty) && !Contains("earlier run"));

  // A pattern of shards is not checked as if it were a path.
  for (const char* shard : {"shard-0.tar", "shard-1.tar"})
    REQUIRE(test::run_program("/bin/tar", {"-C", (run.root() / "data/train").string(), "-cf",
                                           (run.root() / shard).string(), "."})
                .exit_code == 0);
  const auto shards = run({"--train", (run.root() / "shard-{0..1}.tar").string(), "--val",
                           (run.root() / "data/val").string(), "--dry-run", "--resume", "--output",
                           (run.root() / "other").string()});
  INFO(shards.err);
  CHECK(shards.exit_code == 0);
}

TEST_CASE("a finished run that is resumed says that changed settings have no effect") {
  const Run run;
  const auto config = [&] { return test::read_text(run.output() / "config.toml"); };
  const auto first = run();
  REQUIRE(first.exit_code == 0);
  CHECK_THAT(first.err, Contains("1 process,") && Contains("3 classes"));
  const std::string finished = "nothing left to train", unused = "changed settings have no effect";
  CHECK_THAT(run({"--resume"}).err, Contains(finished) && !Contains(unused));
  const std::string before = config();
  CHECK_THAT(run({"--resume", "--lr", "0.01"}).err, Contains(finished) && Contains(unused));
  CHECK(config() == before);
  CHECK_THAT(run({"--resume", "--lr", "0.01", "--epochs", "2"}).err,
             !Contains(finished) && !Contains(unused));
  CHECK_THAT(config(), Contains("lr = 0.01") && Contains("epochs = 2"));

  const auto report = test::run_shoal({"report", run.output(), "--address", "127.0.0.1"});
  CHECK(report.exit_code == 0);
  CHECK_THAT(report.err, Contains("--address has no effect"));
}

TEST_CASE("a run does not export into the folder of another run") {
  const Run run;
  const fs::path other = run.root() / "other", model = other / "model";
  fs::create_directories(other);
  std::ofstream(other / "history.jsonl") << "";
  const auto refused = run({"--export-dir", model.string()});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Contains("--export-dir " + model.string()) &&
                              Contains("--export-dir " + (run.output() / "model").string()));
  CHECK_FALSE(fs::exists(model));
}

TEST_CASE("the settings printed at the start fit a terminal; --log-level warning leaves them out") {
  const Run run;
  const auto shown = run({"--dry-run"});
  for (const auto& line : test::lines_of(shown.err)) CHECK(line.size() <= 110);
  CHECK(run({"--dry-run", "--log-level", "warning"}).err.empty());
}
