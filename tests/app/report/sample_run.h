#pragma once
// Folders of runs for the tests of reports.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "app/version.h"
#include "tests/support/capture.h"
#include "tests/support/files.h"

namespace shoal::test {

// A JPEG in base64.
constexpr const char* kThumbnail =
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarY"
    "qMyP/L2u71////m8H////6/+b9//j/2wBDASstLTw1PHZBQXb4pYyl+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4"
    "+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj/wAARCAAQABgDASIAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAAAgAD/8"
    "QAHxAAAgIBBAMAAAAAAAAAAAAAAAECAxMEFCNBEiIx/8QAFQEBAQAAAAAAAAAAAAAAAAAAAAH/xAAcEQABAwUAAAAA"
    "AAAAAAAAAAAAAQIhEUJRYYH/2gAMAwEAAhEDEQA/AFXbuuOQ3LZeq7MrYYF5wHQ1qFydCODY1SrllZBsslCWOHwhOC"
    "0dap//2Q==";

inline std::string train_row(int epoch, int step_in_epoch, int step, double loss,
                             const nlohmann::json& utilization = {}) {
  nlohmann::json row = {{"event", "train"},
                        {"epoch", epoch},
                        {"step_in_epoch", step_in_epoch},
                        {"step", step},
                        {"loss", loss},
                        {"loss_average", loss + 0.5},
                        {"acc1", 40.5},
                        {"acc1_average", 35.25},
                        {"lr", 0.125},
                        {"grad_norm", 3.5},
                        {"timing",
                         {{"images_per_sec", 100.0 + step},
                          {"step", 0.5},
                          {"step_average", 0.4},
                          {"data", 0.1},
                          {"data_average", 0.05}}},
                        {"time", "2026-01-02T03:04:" + std::to_string(10 + step) + ".500Z"}};
  if (!utilization.is_null()) row["timing"]["utilization"] = utilization;
  return row.dump() + "\n";
}

inline std::string valid_row(const char* name, int epoch, int step, double acc1) {
  const nlohmann::json row = {{"event", name},
                              {"epoch", epoch},
                              {"step", step},
                              {"loss", 1.75},
                              {"acc1", acc1},
                              {"acc5", 90},
                              {"unreadable", 0},
                              {"timing", {{"seconds", 1.5}, {"images_per_sec", 20}}},
                              {"time", "2026-01-02T03:04:" + std::to_string(12 + step) + ".500Z"}};
  return row.dump() + "\n";
}

// An evaluation of three classes with ten images each.
inline nlohmann::json evaluation() {
  return {
      {"format", 1},
      {"images", 30},
      {"top1", 70.0},
      {"top5", 100.0},
      {"loss", 0.9},
      {"epoch", 2},
      {"step", 20},
      {"ema", true},
      {"classes", {"cat", "dog", "fox"}},
      {"confusion", {{0, 0, 8}, {0, 1, 2}, {1, 1, 6}, {1, 0, 1}, {1, 2, 3}, {2, 2, 7}, {2, 1, 3}}},
      {"calibration",
       {{"ece", 0.04},
        {"bins",
         nlohmann::json::array({{{"confidence", 0.9}, {"accuracy", 0.8}, {"images", 30}}})}}},
      {"per_class",
       {{{"images", 10}, {"precision", 8.0 / 9}, {"recall", 0.8}, {"f1", 16.0 / 19}},
        {{"images", 10}, {"precision", 6.0 / 11}, {"recall", 0.6}, {"f1", 12.0 / 21}},
        {{"images", 10}, {"precision", nullptr}, {"recall", 0.7}, {"f1", 0.7}}}},
      {"worst",
       {{{"path", SHOAL_SOURCE_DIR "/tests/golden/images/baseline_420.jpg"},
         {"label", 1},
         {"predicted", 2},
         {"probability", 0.97},
         {"loss", 5.5},
         {"thumbnail", kThumbnail}},
        {{"path", "/nowhere/gone.jpg"},
         {"label", 0},
         {"predicted", 1},
         {"probability", 0.9},
         {"loss", 4.5}}}}};
}

// A run of two epochs of ten steps, with a resume and a spike.
inline void write_sample_run(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  write_text(
      folder / "history.jsonl",
      train_row(0, 5, 5, 3.25) + train_row(0, 10, 10, 2.5) + valid_row("valid", 0, 10, 30) +
          valid_row("valid_ema", 0, 10, 31) +
          R"({"utilization":{"cpu":70,"gpu":[{"busy":90},{"busy":80}]},"time":"2026-01-02T03:04:23Z"})"
          "\n" +
          R"({"event":"loss_spike","loss":9,"median":2,"step":12,"time":"2026-01-02T03:04:24Z"})"
          "\n" +
          train_row(1, 10, 20, 1.5, {{"cpu", 60}}) + valid_row("valid", 1, 20, 42.5));
  write_text(folder / "events.jsonl",
             R"({"event":"start","step":0,"hosts":["one","two"],"time":"2026-01-02T03:04:14Z"})"
             "\n"
             R"({"event":"resume","step":10,"from":"a checkpoint","time":"2026-01-02T03:04:26Z"})"
             "\n"
             R"({"event":"unreadable","images":2,"step":12,"time":"2026-01-02T03:04:27Z"})"
             "\n");
  const nlohmann::json summary = {{"outcome", "complete"},
                                  {"version", app::kVersion},
                                  {"epoch", 2},
                                  {"step", 20},
                                  {"best", {{"acc1", 42.5}, {"epoch", 2}}},
                                  {"settings", {{"lr", 0.125}, {"model", "resnet18"}}}};
  write_text(folder / "summary.json", summary.dump());
  write_text(folder / "evaluation.json", evaluation().dump());
}

// Returns the text between the first `begin` at or after position `from` and the next `end`.
inline std::string between(const std::string& text, const std::string& begin,
                           const std::string& end, size_t from = 0) {
  const size_t at = text.find(begin, from) + begin.size();
  return text.substr(at, text.find(end, at) - at);
}

// Returns the JSON data that a page contains.
inline nlohmann::json data_in(const std::string& page) {
  return nlohmann::json::parse(
      between(page, "<script type=\"application/json\" id=\"data\">", "</script>"));
}

}  // namespace shoal::test
