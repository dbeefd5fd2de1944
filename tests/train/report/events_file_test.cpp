#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/file_size_limit.h"
#include "tests/support/files.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/report/report_support.h"
#include "train/report/sinks.h"

using namespace shoal;
using namespace shoal::train;
using test::job_in;
using test::rows;
namespace fs = std::filesystem;

namespace {

Event event_at(int64_t step) {
  Event event;
  event.name = "loss_spike";
  event.step = step;
  return event;
}

}  // namespace

TEST_CASE("an event that a full disk takes only in part is completed before the next event") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  const fs::path path = fs::path(job.output) / kEventsFile;
  fs::create_directories(job.output);
  const auto sink = events_file(job);
  sink->event(event_at(1));
  const auto before = fs::file_size(path);
  {
    const test::FileSizeLimit limit(before + 10);
    CHECK_THAT(test::stderr_of([&] { sink->event(event_at(2)); }),
               Catch::Contains(path.string()) && Catch::Contains("too large"));
  }
  CHECK(fs::file_size(path) == before + 10);
  sink->event(event_at(3));
  const auto events = rows(path);
  REQUIRE(events.size() == 3);
  for (size_t i = 0; i < 3; ++i) CHECK(events[i].at("step") == i + 1);
}

TEST_CASE("after a killed run's incomplete row, new rows are whole and earlier rows stay") {
  const test::TemporaryDirectory folder;
  const ResolvedJob job = job_in(folder.path());
  const fs::path path = fs::path(job.output) / kEventsFile;
  test::write_text(path, "{\"step\":1}\n{\"step\":2}\n{\"event\":\"sta");
  const auto sink = events_file(job);
  sink->event(event_at(3));
  sink->event(event_at(4));
  const auto events = rows(path);
  REQUIRE(events.size() == 4);
  for (size_t i = 0; i < 4; ++i) CHECK(events[i].at("step") == i + 1);
}
