#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>

#include "app/report/evaluation.h"
#include "app/report/history.h"
#include "app/report/report.h"
#include "app/version.h"
#include "base/error.h"
#include "base/file/file_lock.h"
#include "base/file/folder.h"
#include "base/file/whole_file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "train/report/history_file.h"
#include "train/report/sinks.h"
#include "train/report/utc_time.h"

namespace shoal::app {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::string_view kTitle = "<title>shoal report</title>";  // in page/page.html

// Whether a file is absent, empty or a report.
bool may_replace(const fs::path& file) {
  if (!path_exists(file)) return true;
  std::ifstream in(file, std::ios::binary);
  std::string start(4096, '\0');  // long enough to contain the page's title
  in.read(start.data(), std::ssize(start));
  start.resize(static_cast<size_t>(in.gcount()));
  return in.is_open() && (start.empty() || start.find(kTitle) != start.npos);
}

// Returns the JSON object in a file. If the file does not exist or contains something else, appends
// a note and returns an empty object.
Json read_object(const fs::path& file, const std::string& missing,
                 std::vector<std::string>& notes) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) {
    notes.push_back(missing);
    return Json::object();
  }
  const std::vector<char> bytes = read_whole_file(file);
  Json json = parse_json<Json>({bytes.data(), bytes.size()});
  if (json.is_object()) return json;
  notes.push_back(file.filename().string() + " is not a JSON object and was left out");
  return Json::object();
}

// Returns a different name for each run: the last part of its path, such as "b0" for "runs/b0/". If
// several runs have the same name, adds their parent folders.
std::vector<std::string> names_of(const std::vector<std::string>& runs) {
  std::vector<fs::path> names, parents;
  for (const std::string& run : runs) {
    const fs::path path = (fs::absolute(run) / "").lexically_normal().parent_path();
    names.push_back(path.filename());
    parents.push_back(path.parent_path());
  }
  for (bool changed = true; changed;) {
    changed = false;
    std::map<fs::path, int> count;
    for (const fs::path& name : names) ++count[name];
    for (size_t i = 0; i < runs.size(); ++i) {
      if (count[names[i]] == 1 || !parents[i].has_filename()) continue;
      names[i] = parents[i].filename() / names[i];
      parents[i] = parents[i].parent_path();
      changed = true;
    }
  }
  std::vector<std::string> texts;
  for (const fs::path& name : names) texts.push_back(name.string());
  return texts;
}

Json run_data(const std::string& run, const std::string& name) {
  const fs::path folder = run;
  if (!fs::is_directory(folder))
    throw UserError("'" + run + "' " +
                    (fs::exists(folder) ? "is not a folder of a run" : "does not exist"));
  std::vector<std::string> notes;
  Json history = read_history(folder, notes);
  const bool running = is_locked(folder / train::kRunLock);
  Json summary = read_object(folder / train::kSummaryFile,
                             std::string("there is no summary.json: the run ") +
                                 (running ? "is still going" : "was killed, or has not trained"),
                             notes);
  const std::string ended = text_in(summary, "ended");
  if (!ended.empty() && text_in(history, "trained") > ended) {
    notes.push_back("summary.json was written by an earlier start of this run and is ignored");
    summary = Json::object();
  }
  Json settings = summary.value("settings", Json::object());
  summary.erase("settings");
  const std::string version = text_in(summary, "version");
  if (!version.empty() && version != kVersion)
    notes.push_back("the run was made by shoal " + version + ", this report by " + kVersion);
  Json evaluation = read_evaluation(folder, notes);
  const std::string outcome = text_in(summary, "outcome");
  return {{"name", name},
          {"path", run},
          {"state", !outcome.empty() ? outcome
                    : running        ? "running"
                                     : "unfinished"},
          {"summary", std::move(summary)},
          {"settings", std::move(settings)},
          {"history", std::move(history)},
          {"evaluation", std::move(evaluation)},
          {"notes", notes}};
}

}  // namespace

std::string report_data(const std::vector<std::string>& runs, bool live) {
  Json data = {{"format", 1},
               {"version", kVersion},
               {"written", train::utc_time()},
               {"live", live},
               {"runs", Json::array()}};
  const std::vector<std::string> names = names_of(runs);
  for (size_t i = 0; i < runs.size(); ++i) data["runs"].push_back(run_data(runs[i], names[i]));
  return json_text(data);
}

std::string report_stamp(const std::vector<std::string>& runs) {
  std::string stamp;
  for (const std::string& run : runs) {
    for (const char* name :
         {train::kHistoryFile, train::kEventsFile, train::kSummaryFile, train::kEvaluationFile}) {
      struct stat found {};
      if (::stat((fs::path(run) / name).c_str(), &found) != 0) found = {};
      stamp += strf("%ld.%ld.%09ld ", found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec);
    }
    stamp += is_locked(fs::path(run) / train::kRunLock) ? "locked " : "free ";
  }
  return hex(hash_bytes(stamp));
}

void write_report(const std::vector<std::string>& runs, const fs::path& file) {
  if (!is_special(file) && !may_replace(file))
    throw UserError(file.string() +
                    " exists and is not a report, so it was not replaced; choose "
                    "another name");
  // Not flushed: `shoal report` can write the page again.
  write_whole(file, report_page(report_data(runs, false), false), {.flush = false});
}

}  // namespace shoal::app
