#include "train/report/history_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <system_error>

#include "base/json.h"
#include "base/log.h"
#include "base/whole_file.h"

namespace shoal::train {
namespace {

using Json = nlohmann::ordered_json;

struct Lines {
  std::string text;
  int64_t count = 0;
};

[[noreturn]] void fail(const std::filesystem::path& path, const char* what, int error = errno) {
  throw std::system_error(error, std::generic_category(),
                          std::string("cannot ") + what + " " + path.string());
}

// Returns up to `most` whole lines from the start of a file; none if the file does not exist. A
// power loss may leave half a line or zeros at its end.
Lines first_lines(const std::filesystem::path& path, int64_t most) {
  Lines lines;
  std::ifstream in(path);
  for (std::string line; lines.count < most && std::getline(in, line); ++lines.count) {
    if (in.eof() || !line.starts_with('{') || !line.ends_with('}')) break;
    lines.text += line + "\n";
  }
  return lines;
}

// Returns the lines to keep, from the file itself or from the copy in the checkpoint directory.
Lines lines_to_keep(const ResolvedJob& job, const std::filesystem::path& path, int64_t count) {
  if (job.eval_only) return first_lines(path, std::numeric_limits<int64_t>::max());
  Lines kept = first_lines(path, count);
  if (kept.count == count) return kept;
  // On a new machine, --output may be empty. Then the copy in the checkpoint directory is used.
  Lines saved = first_lines(std::filesystem::path(job.checkpoint_dir) / kHistoryFile, count);
  if (saved.count > kept.count) kept = std::move(saved);
  if (kept.count < count)
    log::warning(
        strf("%s has only %lld of the %lld lines that the checkpoint counts; new lines "
             "are added after them",
             path.c_str(), static_cast<long long>(kept.count), static_cast<long long>(count)));
  return kept;
}

}  // namespace

std::string utc_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return strf("%s.%03dZ", text, static_cast<int>(ms % 1000));
}

std::string history_row(const StepReport& r) {
  Json json = {{"event", "train"},
               {"epoch", r.epoch},
               {"step_in_epoch", r.step_in_epoch},
               {"step", r.step},
               {"loss", r.last.mean_loss()},
               {"loss_average", r.epoch_sum.mean_loss()},
               {"acc1", r.last.top1_percent()},
               {"acc1_average", r.epoch_sum.top1_percent()},
               {"acc5", r.last.top5_percent()},
               {"acc5_average", r.epoch_sum.top5_percent()},
               {"lr", r.lr}};
  if (std::isfinite(r.gradient_norm)) json["grad_norm"] = r.gradient_norm;
  json["timing"] = {{"images_per_sec", r.images_per_second},
                    {"step", r.step_seconds},
                    {"step_average", r.step_seconds_average},
                    {"data", r.data_seconds},
                    {"data_average", r.data_seconds_average}};
  return json.dump();
}

std::string history_row(const EvaluationReport& r) {
  Json json = {{"event", r.ema ? "valid_ema" : "valid"}, {"epoch", r.epoch}, {"step", r.step}};
  if (std::isfinite(r.sum.loss)) json["loss"] = r.sum.mean_loss();
  json["acc1"] = r.sum.top1_percent();
  json["acc5"] = r.sum.top5_percent();
  json["correct1"] = static_cast<int64_t>(r.sum.top1);
  json["correct5"] = static_cast<int64_t>(r.sum.top5);
  json["images"] = static_cast<int64_t>(r.sum.images);
  json["unreadable"] = static_cast<int64_t>(r.sum.skipped);
  json["timing"] = {{"seconds", r.seconds},
                    {"images_per_sec", r.sum.images / std::max(r.seconds, 1e-9)}};
  return json.dump();
}

HistoryFile::HistoryFile(const ResolvedJob& job, int64_t keep_lines)
    : path_(std::filesystem::path(job.output) / kHistoryFile) {
  std::error_code error;
  std::filesystem::create_directories(path_.parent_path(), error);
  const Lines kept = lines_to_keep(job, path_, keep_lines);
  lines_ = kept.count;
  write_whole(path_, kept.text);  // atomic: an interruption must not lose these lines
  open();
}

void HistoryFile::open() {
  file_ = shoal::open_file(path_.c_str(), O_RDWR | O_APPEND | O_CREAT);
  if (!file_.is_open()) fail(path_, "write");
}

// False if somebody has removed or replaced the file.
bool HistoryFile::is_in_place() const {
  struct stat named {
  }, opened{};
  return ::stat(path_.c_str(), &named) == 0 && ::fstat(file_.number(), &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

std::string HistoryFile::text() const {
  std::string text;
  char buffer[65536];
  for (;;) {
    const ssize_t got =
        ::pread(file_.number(), buffer, sizeof buffer, static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path_, "read");
    if (got == 0) return text + unwritten_;
    text.append(buffer, static_cast<size_t>(got));
  }
}

void HistoryFile::append(const std::string& row) {
  unwritten_ += row.substr(0, row.size() - 1) + ",\"time\":\"" + utc_time() + "\"}\n";
  ++lines_;
  write_rows();
}

void HistoryFile::write_rows() {
  try {
    if (is_in_place()) {
      const off_t before = ::lseek(file_.number(), 0, SEEK_END);
      if (const int error = write_all(file_.number(), unwritten_.data(), unwritten_.size())) {
        const off_t written = ::lseek(file_.number(), 0, SEEK_END) - before;
        unwritten_.erase(0, static_cast<size_t>(written));
        fail(path_, "write", error);
      }
    } else {
      write_whole(path_, text());  // the open file still has what was written
      open();
      log::warning(path_.string() + " was removed or replaced; it is written again");
    }
    unwritten_.clear();
    failing_ = false;
  } catch (const std::system_error& error) {
    if (!failing_)
      log::warning(std::string(error.what()) +
                   "; training continues, and the rows follow when the file can be written");
    failing_ = true;
  }
}

void HistoryFile::event(const Event& report) {
  if (!report.in_history) return;
  Json json = {{"event", report.name}};
  for (const auto& [key, value] : report.values) json[key] = value;
  json["step"] = report.step;
  append(json.dump());
}

void HistoryFile::evaluation_progress(const EvaluationProgress& r) {
  append(Json{{"event", "test"},
              {"epoch", r.epoch},
              {"step", r.step},
              {"batch", r.batch},
              {"loss", r.last.mean_loss()},
              {"loss_average", r.sum.mean_loss()},
              {"acc1", r.last.top1_percent()},
              {"acc1_average", r.sum.top1_percent()},
              {"acc5", r.last.top5_percent()},
              {"acc5_average", r.sum.top5_percent()},
              {"timing", {{"batch", r.seconds}, {"batch_average", r.seconds_average}}}}
             .dump());
}

}  // namespace shoal::train
