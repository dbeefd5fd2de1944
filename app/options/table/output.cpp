// Rows of the option table for the section Output and checkpoints.
#include "app/options/option_row.h"
#include "app/options/table/groups.h"

namespace shoal::app {
namespace {

Option resume_row() {
  Option option;
  option.name = "resume";
  option.commands = kTrain | kCommon;
  option.kind = Kind::optional_value;
  option.placeholder = "PATH";
  option.help =
      "Continue from the newest intact checkpoint, or from PATH; settings that affect results are "
      "restored unless given now; repeat all other options, such as --data and --nproc";
  option.unset = "off; on SageMaker: on";
  option.off = "false";
  option.set = [](Arguments& arguments, const std::string& text) {
    train::Job& job = arguments.job;
    job.resume = text != "false";
    job.resume_path = text == "true" || !job.resume ? "" : text;
  };
  option.get = [](const Arguments& arguments) -> std::string {
    if (!arguments.job.resume) return "";
    return arguments.job.resume_path.empty() ? "true" : arguments.job.resume_path;
  };
  return option;
}

Option serve_row() {
  Option option =
      row("serve", kReport | kCommon, "PORT",
          "Serve the report as a web page that updates while runs are in progress, instead of "
          "writing a file; without PORT: 8600",
          FIELD(report.serve))
          .unset_is("write a file")
          .within(1, 65535);
  option.kind = Kind::optional_value;
  option.bare = "8600";
  return option;
}

void add_checkpoints(std::vector<Option>& table, const char* group) {
  add(table, group,
      {row("checkpoint-dir", kTrain | kDoctor, "DIR", "Folder for checkpoints", JOB(checkpoint_dir))
           .unset_is("OUTPUT/checkpoints; on SageMaker the job's checkpoint folder"),
       row("checkpoint-steps", kTrain, "N", "Steps between checkpoints", JOB(checkpoint_steps))
           .unset_is("by time and at epoch ends only")
           .at_least(1)
           .of_training()
           .off_is("none"),
       row("checkpoint-minutes", kTrain, "MINUTES",
           "Time between checkpoints; 0: no timed checkpoints", JOB(checkpoint_minutes))
           .at_least(0)
           .of_training()
           .off_is("0"),
       row("cache-dir", kTrain | kEval | kCheck | kAverage | kBench, "DIR",
           "Folder for cached listings of large data folders, and for the indexes of --seek-index",
           JOB(cache_dir))
           .in_bench({"loader"})
           .unset_is("none")
           .default_in(kTrain,
                       "OUTPUT/cache (on SageMaker the warm pool's folder, or TMPDIR/shoal-cache "
                       "without a warm pool)")
           .default_in(kEval,
                       "none (on SageMaker the warm pool's folder, or TMPDIR/shoal-cache without "
                       "a warm pool)"),
       memory_row(
           "cache", kTrain | kBench,
           "Memory per process for caching encoded training images, such as 16G; useful with "
           "slow disks; 0: no cache",
           JOB(cache_bytes))
           .in_bench({"loader"})
           .of_training()
           .off_is("0"),
       row("seek-index", kTrain | kBench, "",
           "Index JPEGs during the first epoch, so that later epochs decode little more than the "
           "crop; --cache-dir grows by up to 4 % of the data's size",
           JOB(seek_index))
           .in_bench({"loader"})
           .of_training(),
       row("keep", kTrain, "N", "Number of newest checkpoints to keep, in addition to the best one",
           JOB(keep))
           .at_least(1)
           .of_training(),
       choice<train::OnSaveError>(
           "on-save-error", kTrain,
           "What to do if a checkpoint cannot be written: continue training and save when the next "
           "one is due, or stop the run",
           {{"continue", train::OnSaveError::go_on}, {"stop", train::OnSaveError::stop}},
           JOB(on_save_error))
           .of_training(),
       resume_row(),
       row("checkpoint", kEval | kPredict | kCommon, "PATH",
           "Weights from shoal: a file, a folder with model.safetensors, or a run (RUN: newest "
           "checkpoint, RUN/best: best checkpoint)",
           JOB(checkpoint)),
       row("eval-only", kTrain | kCommon, "",
           "Evaluate the weights of --resume or --weights and exit", JOB(eval_only))});
}

// Row of --histograms. Rejects values that steps_of_period() cannot parse.
Option histograms_row() {
  Option option = row("histograms", kTrain, "N|Ne",
                      "Write histograms of all weights and gradients for TensorBoard every N "
                      "steps, for example 500, or every N epochs with the suffix e, for example 2e",
                      JOB(histograms));
  option.set = [](Arguments& arguments, const std::string& text) {
    std::string value = text;
    if (text != "none" && !text.ends_with('e')) {
      int64_t steps = 0;
      store(steps, text);
      value = std::to_string(steps);
    }
    train::steps_of_period(value, 1);
    arguments.job.histograms = value;
  };
  return std::move(option).of_training().off_is("none");
}

void add_printing(std::vector<Option>& table, const char* group) {
  add(table, group,
      {row("print-freq", kTrain, "N", "Steps (in evaluation: batches) between two metric lines",
           JOB(print_freq))
           .at_least(1),
       text_choice("log-format", kTrain,
                   "Metric lines on stdout: text, or dllogger, which adds the JSON lines of "
                   "NVIDIA's DLLogger",
                   {"text", "dllogger"}, JOB(log_format))
           .of_training(),
       row("tensorboard", kTrain, "DIR", "Folder for TensorBoard's event file", JOB(tensorboard))
           .unset_is("OUTPUT/tensorboard; on SageMaker the job's TensorBoard folder")
           .of_training()
           .off_is("none"),
       histograms_row(),
       row("progress", kTrain, "", "Show a progress bar when stderr is a terminal", JOB(progress)),
       text_choice("log-level", kRun | kCheck | kPack | kPrepare | kBench | kAverage | kInspect,
                   "Print messages of this level and above", {"debug", "info", "warning", "error"},
                   JOB(log_level)),
       row("json",
           kEval | kPredict | kCheck | kAverage | kInspect | kModels | kWeightsCommand | kPack |
               kPrepare | kBench | kRuns | kCommon,
           "", "Print the result as JSON", FIELD(json)),
       text_choice(
           "sort", kRuns | kCommon,
           "Column to sort by; name, model and state sort alphabetically, time newest first, "
           "others highest first",
           {"name", "model", "top1", "epochs", "speed", "state", "time"}, FIELD(sort)),
       row("tensors", kInspect | kCommon, "", "List all tensors with their shapes and dtypes",
           FIELD(tensors)),
       row("definitions", kMetrics, "",
           "No effect: `shoal metrics` always prints SageMaker's MetricDefinitions (JSON)",
           FIELD(definitions)),
       row("launcher", kDoctor, "",
           "Show the detected launcher, the variables it set, and the ranks a run here would have",
           FIELD(launcher))});
}

}  // namespace

void add_output(std::vector<Option>& table) {
  const char* const group = "Output and checkpoints";
  add(table, group,
      {row("output", kTrain | kDoctor | kCommon, "DIR",
           "Folder for history, summary and checkpoints (see --checkpoint-dir); on SageMaker: the "
           "output data folder",
           JOB(output))
           .short_form('o')
           .also_called({"output-dir"}),
       row("output", kAverage | kCommon, "FILE", "File to write, NAME.safetensors; required",
           FIELD(average_output))
           .short_form('o')
           .unset_is("none"),
       row("export-dir", kTrain | kCommon, "DIR",
           "Folder for the trained model: model.safetensors, classes.json and settings.json",
           JOB(export_dir))
           .unset_is("none; on SageMaker the model folder")
           .of_training()
           .off_is("none"),
       row("output", kReport | kCommon, "FILE", "File to write", FIELD(report.output))
           .short_form('o')
           .unset_is("RUN/report.html; report.html for several runs"),
       row("report", kTrain, "", "Write OUTPUT/report.html, a page with charts, at the end",
           FIELD(report_page)),
       serve_row(),
       row("address", kReport | kCommon, "IP",
           "IP address on which --serve listens; if it is not a loopback address, requests need "
           "the token in the printed URL",
           FIELD(report.address)),
       row("dry-run", kTrain | kCommon, "",
           "Check options, data, memory and disk with one step on every process, then exit; writes "
           "nothing",
           JOB(dry_run)),
       choice<train::ExportWeights>(
           "export", kTrain,
           "Weights to write to --export-dir: best (by evaluation accuracy; last if there was no "
           "evaluation) or last",
           {{"best", train::ExportWeights::best}, {"last", train::ExportWeights::last}},
           JOB(export_weights))
           .of_training()});
  add_checkpoints(table, group);
  add_printing(table, group);
}

}  // namespace shoal::app
