// shoal-report: writes and serves reports of runs. `shoal report` starts it. A separate program, so
// that `shoal` starts without the HTTP library.
#include "app/commands/printable_row.h"
#include "app/options/settings/settings.h"
#include "app/platform/failure.h"
#include "app/report/report.h"
#include "app/report/server.h"
#include "base/file/descriptor.h"
#include "base/file/writable.h"
#include "base/log.h"
#include "base/secrets.h"

namespace shoal::app {
namespace {

int report(const Arguments& arguments) {
  const ReportOptions& options = arguments.report;
  require(
      !arguments.paths.empty(),
      "name the folders of the runs to report: shoal report RUN..., the --output of shoal train");
  if (options.serve && !options.output.empty())
    log::warning("--output has no effect: --serve writes no file");
  if (!options.serve && arguments.origins.contains("address"))
    log::warning("--address has no effect: --serve is not given");
  if (options.serve) {
    ReportServer server(arguments.paths, options.address, static_cast<int>(*options.serve));
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
    file = arguments.paths.size() > 1 ? std::filesystem::path(kReportFile)
                                      : std::filesystem::path(arguments.paths[0]) / kReportFile;
  write_report(arguments.paths, file);
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
