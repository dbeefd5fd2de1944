// shoal-report: writes and serves reports of runs. `shoal report` starts it. A separate program, so
// that `shoal` starts without the HTTP library.
#include <algorithm>

#include "app/commands/local/run_list.h"
#include "app/commands/printable_row.h"
#include "app/options/settings/settings.h"
#include "app/platform/failure.h"
#include "app/report/report.h"
#include "app/report/server.h"
#include "base/file/descriptor.h"
#include "base/file/folder.h"
#include "base/file/writable.h"
#include "base/log.h"
#include "base/secrets.h"

namespace shoal::app {
namespace {

// Returns the paths without those that exist but are not runs with results, and warns about each of
// these: the pattern in `shoal report runs/*` may match them. If no path would remain, returns all
// paths, so that reading the first one reports the error. Throws UserError instead if the first one
// is not a run but a folder that contains runs.
std::vector<std::string> runs_among(const std::vector<std::string>& paths) {
  const auto is_other = [](const std::string& path) {
    return path_exists(path) && !has_run_results(path);
  };
  if (std::ranges::all_of(paths, is_other)) {
    std::error_code none;
    if (!is_run(paths[0]) && std::filesystem::is_directory(paths[0], none) &&
        !find_runs(paths[0]).empty())
      throw UserError(paths[0] + " is not a run, but it contains runs; use `shoal report " +
                      (std::filesystem::path(paths[0]) / "*").string() + "`");
    return paths;
  }
  std::vector<std::string> runs;
  for (const std::string& path : paths)
    if (is_other(path))
      log::warning(path + " is left out: it " +
                   (is_run(path) ? "is a run without results" : "is not the folder of a run"));
    else
      runs.push_back(path);
  return runs;
}

int report(const Arguments& arguments) {
  const ReportOptions& options = arguments.report;
  require(
      !arguments.paths.empty(),
      "name the folders of the runs to report: shoal report RUN..., the --output of shoal train");
  const std::vector<std::string> runs = runs_among(arguments.paths);
  if (options.serve && !options.output.empty())
    log::warning("--output has no effect: --serve writes no file");
  if (!options.serve && arguments.origins.contains("address"))
    log::warning("--address has no effect: --serve is not given");
  if (options.serve) {
    ReportServer server(runs, options.address, static_cast<int>(*options.serve));
    log::line(server.url());
    log::info("serving until Ctrl-C");
    server.run();
    return kOk;
  }
  require(options.output != "-", "--output -: report cannot write to stdout; give a file name");
  std::filesystem::path file = options.output;
  if (!file.empty())
    require_writable_file("--output", file);
  else
    file = runs.size() > 1 ? std::filesystem::path(kReportFile)
                           : std::filesystem::path(runs[0]) / kReportFile;
  write_report(runs, file);
  log::line(printable_row(file.string()));
  return kOk;
}

}  // namespace
}  // namespace shoal::app

int main(int argc, char** argv) {
  using namespace shoal;
  open_standard_files();
  const auto environment = dist::environment();
  hide_secrets(environment);
  return app::guarded_main(app::reporting(environment), [&] {
    return app::report(app::gather(std::vector<std::string>(argv + 1, argv + argc), environment));
  });
}
