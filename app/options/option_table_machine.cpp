// Rows of the table of options: where a command runs, what it writes, packing and measuring.
#include "app/options/option_groups.h"
#include "app/options/option_row.h"

namespace shoal::app {
namespace {

constexpr double kSecondsMost = 1e6;

Option resume_row() {
  Option option;
  option.name = "resume";
  option.commands = kTrain | kCommon;
  option.kind = Kind::optional_value;
  option.placeholder = "PATH";
  option.help =
      "Continue from the newest good checkpoint, or from PATH (a file or folder); options that "
      "are not given keep its settings";
  option.unset = "a fresh start";
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

// Stores the text of a number as a whole number: 2.0 becomes 2.
Option nproc_row() {
  Option option =
      row("nproc", kTrain | kEval | kDoctor | kCommon, "N|auto",
          "Processes on this host; auto: one per GPU, or one without GPUs", FIELD(nproc))
          .unset_is("one, or what the launcher or SageMaker asks for")
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
      {row("instance-group", kTrain | kEval | kDoctor, "NAME",
           "SageMaker instance groups (comma-separated) whose hosts take part",
           FIELD(instance_group))
           .unset_is("all hosts; required when a SageMaker job has several groups")
           .spells_lists(","),
       row("nnodes", kTrain | kEval, "N",
           "Number of hosts, if you start shoal on each host yourself", FIELD(nodes.count)),
       row("node-rank", kTrain | kEval, "N", "Rank of this host, from 0", FIELD(nodes.rank)),
       row("master-addr", kTrain | kEval, "HOST", "Address of host 0", FIELD(nodes.master_addr))
           .unset_is("MASTER_ADDR"),
       row("master-port", kTrain | kEval, "PORT",
           "Port on host 0 where processes meet; 0: MASTER_PORT", FIELD(nodes.master_port))
           .within(0, 65535),
       row("workers", kTrain | kEval | kPack | kPrepare, "N",
           "Threads per process that read and decode images", JOB(workers))
           .unset_is("the process's share of the processors")
           .within(1, 1024),
       row("threads", kRun | kBench, "N",
           "Compute threads per process; of `bench loader`, loader threads", JOB(threads))
           .unset_is("the process's share of the processors, or OMP_NUM_THREADS")
           .within(1, 1024)});
}

}  // namespace

void add_machine(std::vector<Option>& table) {
  const char* const group = "Where it runs (changes only the speed)";
  add(table, group,
      {text_choice("device", kTrain | kEval | kCommon,
                   "Device; auto: this process's GPU if there is one and the build has CUDA, else "
                   "the CPU",
                   {"auto", "cpu", "cuda"}, JOB(device)),
       text_choice("backend", kTrain | kEval,
                   "Communication between processes; auto: nccl between GPUs, gloo between CPUs "
                   "and when processes share a GPU",
                   {"auto", "nccl", "gloo"}, JOB(backend)),
       nproc_row(),
       row("rendezvous-timeout", kTrain | kEval, "SECONDS",
           "Time for all processes to find one another; an error then names the missing host",
           JOB(rendezvous_timeout))
           .within(1, kSecondsMost),
       text_choice("health-check", kTrain,
                   "Test of hosts and links before training: off, quick (a few MB) or full (16x)",
                   {"off", "quick", "full"}, JOB(health_check))
           .off_is("off"),
       row("collective-timeout", kTrain | kEval, "SECONDS",
           "Time that one exchange between processes may take before the run ends",
           JOB(collective_timeout))
           .within(1, kSecondsMost),
       row("stall-warning", kTrain | kEval, "SECONDS",
           "Time without progress after which a warning names the late processes and what they do; "
           "0: never",
           JOB(stall_warning))
           .within(0, kSecondsMost)
           .off_is("0")});
  add_hosts(table, group);
}

namespace {

void add_checkpoints(std::vector<Option>& table, const char* group) {
  add(table, group,
      {row("checkpoint-dir", kTrain | kDoctor, "DIR", "Folder for checkpoints", JOB(checkpoint_dir))
           .unset_is("OUTPUT/checkpoints, on SageMaker its checkpoint folder"),
       row("checkpoint-steps", kTrain, "N", "Steps between checkpoints", JOB(checkpoint_steps))
           .unset_is("by time and at epoch ends only")
           .at_least(1)
           .of_training()
           .off_is("none"),
       row("checkpoint-minutes", kTrain, "MINUTES", "Time between checkpoints; 0: not by time",
           JOB(checkpoint_minutes))
           .at_least(0)
           .of_training()
           .off_is("0"),
       row("cache-dir", kTrain | kEval | kBench, "DIR",
           "Folder for listings of large data folders and for seek indexes", JOB(cache_dir))
           .unset_is("OUTPUT/cache for train, none for eval and bench; on SageMaker a warm pool's "
                     "folder"),
       memory_row("cache", kTrain | kBench,
                  "Memory per process for caching encoded training images, for slow disks; 0: none",
                  JOB(cache_bytes))
           .of_training()
           .off_is("0"),
       row("seek-index", kTrain | kBench, "",
           "Index each JPEG in the first epoch, so that later epochs decode little more than the "
           "crop; up to 4 % of the data's size in --cache-dir",
           JOB(seek_index))
           .of_training(),
       row("keep", kTrain, "N", "Newest checkpoints to keep besides the best", JOB(keep))
           .at_least(1)
           .of_training(),
       resume_row(),
       row("checkpoint", kEval | kPredict | kCommon, "PATH",
           "Weights to use: a file, a folder with model.safetensors, or a run's folder for its "
           "newest checkpoint (FOLDER/best: its best)",
           JOB(checkpoint)),
       row("eval-only", kTrain | kCommon, "",
           "Evaluate the weights of --resume or --weights, and end", JOB(eval_only))});
}

void add_printing(std::vector<Option>& table, const char* group) {
  add(table, group,
      {row("print-freq", kTrain, "N", "Steps (evaluation: batches) between two metric lines",
           JOB(print_freq))
           .at_least(1),
       row("progress", kTrain, "", "Show a progress bar when stderr is a terminal", JOB(progress)),
       text_choice("log-level", kRun | kPack | kPrepare | kBench,
                   "Print messages of this level and above", {"debug", "info", "warning", "error"},
                   JOB(log_level)),
       row("json", kEval | kPredict | kModels | kPack | kPrepare | kBench | kCommon, "",
           "Print JSON", FIELD(json)),
       row("csv", kPredict | kCommon, "", "Print comma-separated values", FIELD(csv)),
       row("topk", kPredict | kCommon, "N", "Classes to print for each image, most likely first",
           FIELD(topk))
           .at_least(1),
       row("logits", kPredict, "", "Print each class's logit beside its probability",
           FIELD(logits)),
       row("definitions", kMetrics, "", "Print the MetricDefinitions of a SageMaker training job",
           FIELD(definitions)),
       row("launcher", kDoctor, "", "Show how this process would find its rank", FIELD(launcher))});
}

}  // namespace

void add_output(std::vector<Option>& table) {
  const char* const group = "Output and checkpoints";
  add(table, group,
      {row("output", kTrain | kDoctor | kCommon, "DIR",
           "Folder for history, summary and checkpoints; on SageMaker its output data folder",
           JOB(output))
           .also_called({"output-dir"}),
       row("export-dir", kTrain | kCommon, "DIR",
           "Folder for the finished model: model.safetensors, classes.json and settings.json",
           JOB(export_dir))
           .unset_is("none, on SageMaker its model folder")
           .of_training()
           .off_is("none"),
       row("dry-run", kTrain | kCommon, "",
           "Check options, data, memory and disk with one step on every process, write nothing and "
           "end",
           JOB(dry_run)),
       choice<train::ExportWeights>(
           "export", kTrain,
           "Weights for --export-dir: of the best evaluation (the last if nothing was evaluated), "
           "or the last",
           {{"best", train::ExportWeights::best}, {"last", train::ExportWeights::last}},
           JOB(export_weights))
           .of_training()});
  add_checkpoints(table, group);
  add_printing(table, group);
}

void add_packing(std::vector<Option>& table) {
  add(table, "Packing",
      {choice<PrepareAs>("as", kPrepare | kCommon,
                         "What to make in DEST: one folder per class, one tar per class, or packed "
                         "files (train.pack and val.pack)",
                         {{"folders", PrepareAs::folders},
                          {"tars", PrepareAs::tars},
                          {"packs", PrepareAs::packs}},
                         FIELD(prepare_as)),
       row("max-side", kPack | kPrepare | kCommon, "PIXELS",
           "Shrink images whose longer side exceeds this, and re-encode them; 0: off",
           FIELD(pack.max_side))
           .within(0, data::kLargestJpegSide),
       row("quality", kPack | kPrepare | kCommon, "N",
           "JPEG quality for re-encoding, used if it saves at least 10 %; 0: re-encode only what "
           "--max-side shrinks, at quality 90",
           FIELD(pack.quality))
           .within(0, 100),
       row("raw-share", kPack | kPrepare, "SHARE",
           "Share of the images stored as raw pixels, chosen by position", FIELD(pack.raw_share))
           .within(0, 1),
       row("index", kPack | kPrepare, "",
           "Store a seek index with each baseline JPEG (up to 4 % of its size)", FIELD(pack.index)),
       memory_row("shard-size", kPack | kPrepare | kCommon,
                  "Make DEST a folder of files of about this size; 0: one file",
                  FIELD(pack.shard_bytes)),
       row("overwrite", kPack | kCommon, "", "Replace DEST if it is a packed set",
           FIELD(pack.overwrite)),
       row("info", kPack | kCommon, "", "Describe the named packed set", FIELD(info)),
       row("verify", kPack | kCommon, "", "Read the whole packed set and report what is damaged",
           FIELD(verify))});
}

void add_measuring(std::vector<Option>& table) {
  add(table, "Measuring",
      {row("train", kBench | kCommon, "", "Measure training's random crops (default unless --eval)",
           FIELD(bench.train)),
       row("eval", kBench | kCommon, "", "Measure evaluation's centre crops", FIELD(bench.eval)),
       choice<data::Resize>(
           "mode", kBench | kCommon, "Resizing of training images: see train --resize",
           {{"exact", data::Resize::exact}, {"fast", data::Resize::fast}}, FIELD(bench.mode)),
       row("seconds", kBench | kCommon, "S", "Duration of each measurement in seconds",
           FIELD(bench.seconds))
           .above(0, 3600),
       row("wanted", kBench | kCommon, "RATE",
           "Target in images/s: find the number of threads that reaches it; 0: off",
           FIELD(bench.wanted))
           .at_least(0)});
}

}  // namespace shoal::app
