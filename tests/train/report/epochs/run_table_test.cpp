#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/report/report_support.h"
#include "train/report/reporter.h"

using namespace shoal;
using namespace shoal::train;
using Catch::Matchers::Contains;
using test::evaluation_report;
using test::job_in;
using test::Redirected;
using test::step_report;
namespace fs = std::filesystem;

TEST_CASE("the table at the end of a run names the folder with the best checkpoint") {
  const test::TemporaryDirectory folder;
  ResolvedJob job = job_in(folder.path());
  const auto printed = [&](const std::string& name) {
    {
      const Redirected out(STDOUT_FILENO, folder.path() / "out");
      const Redirected err(STDERR_FILENO, folder.path() / name);
      Reporter reporter(job, 0, 0);
      reporter.start({"fresh start", {"cat"}});
      reporter.step(step_report(10));
      reporter.evaluation(evaluation_report(false));
      RunEnd end;
      end.outcome = "complete";
      end.best = Evaluated{75, 1, 10};
      reporter.end(end);
    }
    return test::read_text(folder.path() / name);
  };
  fs::create_directories(job.checkpoint_dir);
  std::ofstream(fs::path(job.checkpoint_dir) / "superseded-epoch-0001-step-00000010.pt");
  const std::string none = printed("none");
  CHECK_THAT(none, Contains(job.checkpoint_dir) && !Contains("the best: "));
  std::ofstream(fs::path(job.checkpoint_dir) / "epoch-0001-step-00000010.pt");
  CHECK_THAT(printed("apart"), Contains("the best: --checkpoint " + job.checkpoint_dir + "/best"));
  const std::string inside = job.output + "/checkpoints";
  fs::rename(job.checkpoint_dir, inside);
  job.checkpoint_dir = inside;
  CHECK_THAT(printed("inside"), Contains("the best: --checkpoint " + job.output + "/best"));
}
