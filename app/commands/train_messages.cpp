#include "app/commands/train_messages.h"

#include <cmath>

#include "app/launch/machine.h"
#include "app/options/advice.h"
#include "app/options/no_effect.h"
#include "app/options/settings/settings.h"
#include "base/format/counted.h"
#include "base/format/grouped.h"
#include "base/log.h"
#include "base/text.h"

namespace shoal::app {
namespace {

// Logs arguments.notes as warnings, then the given settings with their origins. At debug level,
// also logs the defaults.
void print_settings(const Arguments& arguments) {
  for (const std::string& note : arguments.notes) log::warning(note);
  log::info_lines("settings given\n" + requested_text(arguments));
  log::debug_lines("all other settings\n" + default_text(arguments));
}

}  // namespace

void print_start(const Arguments& arguments, const train::ResolvedJob& job,
                 const train::Start& start) {
  if (job.train_streamed || job.train_whole_files)
    log::info(std::string(job.train_streamed ? "training images are read from pipes"
                                             : "files of training images are read sequentially") +
              ", so the batches depend on the number of processes; another number gives "
              "different results");
  print_settings(arguments);
  const Circumstances circumstances{arguments, job, start.data.has_value()};
  for (const std::string& line : no_effect(circumstances)) log::warning(line);
  for (const std::string& line : advice(circumstances)) log::warning(line);
}

void print_dry_run(const train::ResolvedJob& job, const train::DryRun& found,
                   const dist::Communicator& communicator) {
  if (communicator.env.rank != 0) return;
  const auto processes = static_cast<double>(communicator.env.local_world_size);
  const auto memory = static_cast<int64_t>(memory_bytes());
  std::string text =
      strf("memory   at most %.1f GB per process; %s on this host, which has %.1f GB",
           gigabytes(found.peak_bytes),
           counted(communicator.env.local_world_size, "process").c_str(), gigabytes(memory));
  if (found.peak_gpu_bytes > 0)
    text += strf("\ngpu      at most %.1f GB of GPU memory per process",
                 gigabytes(found.peak_gpu_bytes));
  if (found.disk.checkpoint > 0)
    text += strf("\ndisk     %.3f GB per checkpoint, at most %.3f GB in all",
                 gigabytes(found.disk.checkpoint), gigabytes(found.disk.most));
  if (found.disk.checkpoint > 0 && found.disk.free >= 0)
    text += strf(", %.2f GB free", gigabytes(found.disk.free));
  if (found.step.images > 0)
    text += strf("\nstep     %.2f s, the first and slowest; loss %.4f over %s", found.step_seconds,
                 found.step.mean_loss(), counted(std::llround(found.step.images), "image").c_str());
  text += strf("\neval     %s read, %.0f unreadable",
               counted(std::llround(found.evaluation.images), "image").c_str(),
               found.evaluation.skipped);
  log::info_lines("dry run: nothing was written to " + job.output + "\n" + text);
  if (processes * static_cast<double>(found.peak_bytes) > 0.9 * static_cast<double>(memory))
    log::warning("this host's memory is nearly used up; lower --batch-size or --workers");
}

}  // namespace shoal::app
