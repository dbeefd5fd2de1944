// Rows of the option table for the sections Where it runs, Output and checkpoints, Packing, and
// Measuring.
#include "app/options/option_groups.h"
#include "app/options/option_row.h"

namespace shoal::app {
namespace {

constexpr double kMaxSeconds = 1e6;

Option resume_row() {
  Option option;
  option.name = "resume";
  option.commands = kTrain | kCommon;
  option.kind = Kind::optional_value;
  option.placeholder = "PATH";
  option.help =
      "Continue from the newest intact checkpoint, or from PATH (a file or folder); options "
      "that are not given take the checkpoint's values";
  option.unset = "start a new run";
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

// Row of --nproc. Stores a number as a whole number: 2.0 becomes 2.
Option nproc_row() {
  Option option = row("nproc", kRanks | kDoctor | kCommon, "N|auto",
                      "Processes on this host; auto: one per GPU, or 1 without GPUs", FIELD(nproc))
                      .unset_is("1, or as set by the launcher or SageMaker")
                      .also_called({"gpus", "nproc-per-node"});
  option.set = [](Arguments& arguments, const std::string& text) {
    int64_t count = 0;
    try {
      store(count, text);
      arguments.nproc = text_of(count);
    } catch (const std::invalid_argument&) {
      store(arguments.nproc, text);
    }
  };
  return option;
}

void add_hosts(std::vector<Option>& table, const char* group) {
  add(table, group,
      {row("instance-group", kRanks | kDoctor, "NAME",
           "SageMaker instance groups (comma-separated) whose hosts run the job",
           FIELD(instance_group))
           .unset_is("the SageMaker toolkit's selection, else all hosts; required if the job has "
                     "several groups and none is selected")
           .spells_lists(","),
       row("nnodes", kRanks, "N", "Number of hosts, for starting shoal by hand on each host",
           FIELD(nodes.count)),
       row("node-rank", kRanks, "N", "Rank of this host, from 0 to the number of hosts - 1",
           FIELD(nodes.rank)),
       row("master-addr", kRanks, "HOST", "Address of host 0", FIELD(nodes.master_addr))
           .unset_is("value of MASTER_ADDR"),
       row("master-port", kRanks, "PORT",
           "Port on host 0 for the rendezvous; 0: value of MASTER_PORT", FIELD(nodes.master_port))
           .within(0, 65535),
       row("workers", kRanks | kAverage | kPack | kPrepare, "N",
           "Threads per process that read and decode images", JOB(workers))
           .unset_is("the process's share of the CPU cores")
           .within(1, 1024),
       row("threads", kRanks | kBench, "N",
           "Compute threads per process (`bench loader`: loader threads)", JOB(threads))
           .unset_is("OMP_NUM_THREADS, else the process's share of the CPU cores; bench: 1, 2, 4, "
                     "… up to all cores, or more if the disk is the limit")
           .within(1, 1024)});
}

Option kernels_row() {
  using models::Kernels;
  return choice<Kernels>(
             "kernels", kTrain,
             "Kernels of training steps and evaluations: reference (one operation at a time) or "
             "fused (CPU only; several operations in one pass, faster, less memory); auto: fused "
             "where possible",
             {{"auto", Kernels::automatic},
              {"reference", Kernels::reference},
              {"fused", Kernels::fused}},
             JOB(model.kernels))
      .of_training();
}

}  // namespace

void add_machine(std::vector<Option>& table) {
  const char* const group = "Where it runs";
  add(table, group,
      {text_choice("device", kRanks | kCommon,
                   "Device; auto: this process's GPU if it has one and the build supports CUDA, "
                   "else the CPU",
                   {"auto", "cpu", "cuda"}, JOB(device)),
       text_choice("backend", kRanks,
                   "Communication backend; auto: nccl for GPUs, gloo for CPUs and for processes "
                   "that share a GPU",
                   {"auto", "nccl", "gloo"}, JOB(backend)),
       kernels_row(), nproc_row(),
       row("rendezvous-timeout", kRanks, "SECONDS",
           "Time limit for all processes to connect; the error then names the missing host",
           JOB(rendezvous_timeout))
           .within(1, kMaxSeconds),
       text_choice(
           "health-check", kTrain,
           "Test hosts and network before training: off, quick (transfers a few MB) or full "
           "(transfers 16 times as much)",
           {"off", "quick", "full"}, JOB(health_check))
           .off_is("off"),
       row("collective-timeout", kRanks, "SECONDS",
           "Time limit for one collective operation between processes, and for a pipe to deliver "
           "more data; the run then stops",
           JOB(collective_timeout))
           .within(1, kMaxSeconds),
       row("stall-warning", kRanks, "SECONDS",
           "Time without progress after which a warning names the late processes and what they are "
           "doing; 0: never",
           JOB(stall_warning))
           .within(0, kMaxSeconds)
           .off_is("0"),
       row("lost-host-timeout", kRanks, "SECONDS",
           "Time without an answer after which a process or host counts as lost; the run then ends "
           "(train: rank 0 first saves a checkpoint); 0: never",
           JOB(lost_host_timeout))
           .within(0, kMaxSeconds)
           .off_is("0"),
       row("stop-timeout", kTrain, "SECONDS",
           "Time limit for a stop by SIGTERM or SIGINT; after half of it, rank 0 saves a "
           "checkpoint without waiting for images or other processes",
           JOB(stop_timeout))
           .within(1, kMaxSeconds)});
  add_hosts(table, group);
}

namespace {

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
       row("cache-dir", kTrain | kEval | kAverage | kBench, "DIR",
           "Folder that caches listings of large data folders and seek indexes (see --seek-index)",
           JOB(cache_dir))
           .unset_is("OUTPUT/cache for train, none for other commands; on SageMaker the warm "
                     "pool's folder or, without a warm pool, TMPDIR/shoal-cache"),
       memory_row(
           "cache", kTrain | kBench,
           "Memory per process for caching encoded training images, such as 16G; useful with "
           "slow disks; 0: no cache",
           JOB(cache_bytes))
           .of_training()
           .off_is("0"),
       row("seek-index", kTrain | kBench, "",
           "Index each JPEG during the first epoch, so that later epochs decode little more than "
           "the crop; uses up to 4 % of the data's size in --cache-dir",
           JOB(seek_index))
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
           "Weights to use: a file, a folder with model.safetensors, or a run's folder (its newest "
           "checkpoint; FOLDER/best: its best one)",
           JOB(checkpoint)),
       row("eval-only", kTrain | kCommon, "",
           "Evaluate the weights of --resume or --weights and exit", JOB(eval_only))});
}

// Row of --histograms. Rejects values that steps_of_period() cannot read.
Option histograms_row() {
  Option option = row("histograms", kTrain, "N|Ne",
                      "Write histograms of all weights and gradients for TensorBoard every N steps "
                      "or, with Ne, every N epochs",
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
       text_choice("log-level", kRun | kPack | kPrepare | kBench | kAverage | kInspect,
                   "Print messages of this level and above", {"debug", "info", "warning", "error"},
                   JOB(log_level)),
       row("json",
           kEval | kPredict | kAverage | kInspect | kModels | kWeightsCommand | kPack | kPrepare |
               kBench | kRuns | kCommon,
           "", "Print the result as JSON", FIELD(json)),
       text_choice(
           "sort", kRuns | kCommon,
           "Column to sort by; name, model and state in alphabetical order, the others best or "
           "newest first",
           {"name", "model", "top1", "epochs", "speed", "state", "time"}, FIELD(sort)),
       row("tensors", kInspect | kCommon, "", "List all tensors with their shapes and dtypes",
           FIELD(tensors)),
       row("definitions", kMetrics, "",
           "Print MetricDefinitions (JSON) for a SageMaker training job", FIELD(definitions)),
       row("launcher", kDoctor, "", "Show how this process would determine its rank",
           FIELD(launcher))});
}

}  // namespace

void add_output(std::vector<Option>& table) {
  const char* const group = "Output and checkpoints";
  add(table, group,
      {row("output", kTrain | kDoctor | kCommon, "DIR",
           "Folder for history, summary and checkpoints; on SageMaker the job's output data folder",
           JOB(output))
           .also_called({"output-dir"}),
       row("output", kAverage | kCommon, "FILE", "File to write, NAME.safetensors; required",
           FIELD(average_output))
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
           "Address for --serve; unless it is a loopback address, requests need the token in the "
           "URL",
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

void add_packing(std::vector<Option>& table) {
  add(table, "Packing",
      {choice<PrepareAs>("as", kPrepare | kCommon,
                         "Format of DEST: one folder per class, one tar per class, or packed files "
                         "(train.pack and val.pack)",
                         {{"folders", PrepareAs::folders},
                          {"tars", PrepareAs::tars},
                          {"packs", PrepareAs::packs}},
                         FIELD(prepare_as)),
       row("max-side", kPack | kPrepare | kCommon, "PIXELS",
           "Shrink and re-encode images whose longer side exceeds PIXELS; 0: off",
           FIELD(pack.max_side))
           .within(0, data::kMaxJpegSide),
       row("quality", kPack | kPrepare | kCommon, "N",
           "Re-encode images as JPEG with this quality if that saves at least 10 %; 0: re-encode "
           "only images that --max-side shrinks, with quality 90",
           FIELD(pack.quality))
           .within(0, 100),
       row("raw-share", kPack | kPrepare, "FRACTION",
           "Fraction of the images to store as raw pixels, selected by a hash of their position",
           FIELD(pack.raw_share))
           .within(0, 1),
       row("index", kPack | kPrepare, "",
           "Store an index with each baseline JPEG, so that training decodes only the crop; adds "
           "up to 4 % to the file",
           FIELD(pack.index)),
       memory_row(
           "shard-size", kPack | kPrepare | kCommon,
           "Split the packed set into files of about this size in a folder (pack: DEST; prepare "
           "--as packs: DEST/train and DEST/val); 0: one file",
           FIELD(pack.shard_bytes)),
       row("overwrite", kPack | kCommon, "", "Replace DEST if it exists and is a packed set",
           FIELD(pack.overwrite)),
       row("compare", kPack | kCommon, "PATH",
           "Report images of SOURCE that are also in PATH, such as the other split; compares "
           "decoded pixels",
           FIELD(compare))
           .unset_is("none"),
       row("info", kPack | kCommon, "", "Describe the packed set SOURCE and write nothing",
           FIELD(info)),
       row("verify", kPack | kCommon, "",
           "Read the whole packed set SOURCE, report any damage and write nothing",
           FIELD(verify))});
}

void add_measuring(std::vector<Option>& table) {
  add(table, "Measuring",
      {row("train", kBench | kCommon, "",
           "Measure loading for training, with random crops (default unless --eval is given)",
           FIELD(bench.train)),
       row("eval", kBench | kCommon, "", "Measure loading for evaluation, with center crops",
           FIELD(bench.eval)),
       choice<data::Resize>("mode", kBench | kCommon,
                            "How to resize training images, as with `shoal train --resize`",
                            {{"exact", data::Resize::exact}, {"fast", data::Resize::fast}},
                            FIELD(bench.mode)),
       row("seconds", kBench | kCommon, "SECONDS", "Duration of each measurement",
           FIELD(bench.seconds))
           .above(0, 3600),
       row("wanted", kBench | kCommon, "RATE",
           "Find how many threads are needed to load RATE images/s; 0: off", FIELD(bench.wanted))
           .at_least(0)});
}

}  // namespace shoal::app
