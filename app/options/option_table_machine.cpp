// Rows of the table of options: where a command runs, what it writes, packing and measuring.
#include "app/options/option_groups.h"
#include "app/options/option_row.h"

namespace shoal::app {
namespace {

Option resume_row() {
  Option option;
  option.name = "resume";
  option.commands = kTrain | kCommon;
  option.kind = Kind::optional_value;
  option.placeholder = "PATH";
  option.help =
      "continue from the newest good checkpoint, or from PATH (a file or a folder), with the "
      "settings it was made with unless they are named";
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

// The text of a number is that of a whole one.
Option nproc_row() {
  Option option =
      unset_means("one, or what the launcher or SageMaker ask for",
                  row("nproc", kTrain | kEval | kDoctor | kCommon, "N|auto",
                      "processes on this host; auto: one per GPU, without GPU one", FIELD(nproc)));
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

}  // namespace

void add_machine(std::vector<Option>& table) {
  add(table, "Where it runs (changes only the speed)",
      {text_choice(
           "device", kTrain | kEval | kCommon,
           "auto: this process's GPU where there is one and the build has CUDA, else the CPU",
           {"auto", "cpu", "cuda"}, FIELD(job.device)),
       text_choice("backend", kTrain | kEval,
                   "how processes talk; auto: nccl between GPUs, gloo between CPUs and where a GPU "
                   "is shared",
                   {"auto", "nccl", "gloo"}, FIELD(job.backend)),
       nproc_row(),
       row("rendezvous-timeout", kTrain | kEval, "SECONDS",
           "how long processes wait for one another at the start; a missing host is then named",
           FIELD(job.rendezvous_timeout)),
       text_choice("health-check", kTrain,
                   "of several processes: hosts and network are tested before the start, by a few "
                   "megabytes or sixteen times as many",
                   {"off", "quick", "full"}, FIELD(job.health_check))
           .off_is("off"),
       row("collective-timeout", kTrain | kEval, "SECONDS",
           "how long one exchange between processes may take before the run ends",
           FIELD(job.collective_timeout)),
       row("stall-warning", kTrain | kEval, "SECONDS",
           "standstill after which it is said which processes are late, and what they do; 0: never",
           FIELD(job.stall_warning))
           .off_is("0"),
       unset_means("all hosts; needed when a SageMaker job has several groups",
                   row("instance-group", kTrain | kEval | kDoctor, "NAME",
                       "SageMaker instance group (or several, with commas) whose hosts take part",
                       FIELD(instance_group))
                       .spells_lists(",")),
       row("nnodes", kTrain | kEval, "N", "hosts of a job that nobody else distributes",
           FIELD(nodes.count)),
       row("node-rank", kTrain | kEval, "N", "which of them this is, from 0 on", FIELD(nodes.rank)),
       unset_means("MASTER_ADDR", row("master-addr", kTrain | kEval, "HOST", "the first of them",
                                      FIELD(nodes.master_addr))),
       row("master-port", kTrain | kEval, "PORT", "where processes meet on it; 0: MASTER_PORT",
           FIELD(nodes.master_port)),
       unset_means("the processors of the process's share",
                   row("workers", kTrain | kEval | kPack | kPrepare, "N",
                       "threads per process that read and decode images", FIELD(job.workers))),
       unset_means("the processors of the process's share, or OMP_NUM_THREADS",
                   row("threads", kRun | kBench, "N",
                       "threads per process that compute; of `bench loader`, that load",
                       FIELD(job.threads)))});
}

void add_output(std::vector<Option>& table) {
  add(table, "Output and checkpoints",
      {row("output", kTrain | kDoctor | kCommon, "DIR",
           "folder for history, summary and checkpoints; on SageMaker its output data folder",
           FIELD(job.output)),
       unset_means("none, on SageMaker its model folder",
                   row("export-dir", kTrain | kCommon, "DIR",
                       "folder for the finished model: model.safetensors, classes.json and "
                       "settings.json",
                       FIELD(job.export_dir))
                       .off_is("none")),
       row("dry-run", kTrain | kCommon, "",
           "check options, data, memory and disk with one step on every process, then end; writes "
           "nothing",
           FIELD(job.dry_run)),
       choice<train::ExportWeights>(
           "export", kTrain,
           "weights for --export-dir: of the best evaluation (the last where there was none), or "
           "the last",
           {{"best", train::ExportWeights::best}, {"last", train::ExportWeights::last}},
           FIELD(job.export_weights)),
       unset_means("OUTPUT/checkpoints, on SageMaker its checkpoint folder",
                   row("checkpoint-dir", kTrain | kDoctor, "DIR", "folder for checkpoints",
                       FIELD(job.checkpoint_dir))),
       unset_means("by time and at epoch ends only",
                   row("checkpoint-steps", kTrain, "N", "updates between checkpoints",
                       FIELD(job.checkpoint_steps))
                       .off_is("none")),
       row("checkpoint-minutes", kTrain, "MINUTES", "time between checkpoints; 0: never by time",
           FIELD(job.checkpoint_minutes))
           .off_is("0"),
       unset_means(
           "OUTPUT/cache for train, none for eval and bench; on SageMaker a warm pool's folder",
           row("cache-dir", kTrain | kEval | kBench, "DIR",
               "folder for listings of large data folders and for seek indexes",
               FIELD(job.cache_dir))),
       memory_row("cache", kTrain | kBench,
                  "memory per process that keeps training images as they are in their files, for "
                  "data on a slow disk; 0: none",
                  FIELD(job.cache_bytes))
           .off_is("0"),
       row("seek-index", kTrain | kBench, "",
           "learn in the first epoch where in each JPEG its parts begin, so that later epochs "
           "decode little more than the crops; up to 4 % of the data's size in --cache-dir",
           FIELD(job.seek_index)),
       row("keep", kTrain, "N", "newest checkpoints kept besides the best", FIELD(job.keep)),
       resume_row(),
       row("checkpoint", kEval | kPredict | kCommon, "PATH",
           "weights to use: a file, a folder with model.safetensors, or a run's folder for its "
           "newest (FOLDER/best: its best)",
           FIELD(job.checkpoint)),
       row("eval-only", kTrain | kCommon, "", "evaluate the weights that --resume finds, and end",
           FIELD(job.eval_only)),
       row("print-freq", kTrain, "N", "updates (evaluation: batches) between two lines",
           FIELD(job.print_freq)),
       row("progress", kTrain, "", "a progress bar when stderr is a terminal", FIELD(job.progress)),
       text_choice("log-level", kRun | kPack | kPrepare | kBench, "messages to print",
                   {"debug", "info", "warning", "error"}, FIELD(job.log_level)),
       row("json", kEval | kPredict | kModels | kPack | kPrepare | kBench | kCommon, "",
           "print JSON", FIELD(json)),
       row("csv", kPredict | kCommon, "", "print comma-separated values", FIELD(csv)),
       row("topk", kPredict | kCommon, "N", "classes to print for each image, the likeliest first",
           FIELD(topk)),
       row("logits", kPredict, "", "print the logit of each class beside its probability",
           FIELD(logits)),
       row("definitions", kMetrics, "", "print the MetricDefinitions of a SageMaker training job",
           FIELD(definitions)),
       row("launcher", kDoctor, "", "show how this process would find its rank", FIELD(launcher))});
}

void add_packing(std::vector<Option>& table) {
  add(table, "Packing",
      {choice<PrepareAs>("as", kPrepare | kCommon,
                         "what to make in DEST: a folder for each class, a tar for each class, or "
                         "packed files (train.pack and val.pack)",
                         {{"folders", PrepareAs::folders},
                          {"tars", PrepareAs::tars},
                          {"packs", PrepareAs::packs}},
                         FIELD(prepare_as)),
       row("max-side", kPack | kPrepare | kCommon, "PIXELS",
           "reduce images whose longer side is longer, and encode them anew; 0: none",
           FIELD(pack.max_side)),
       row("quality", kPack | kPrepare | kCommon, "N",
           "encode all images anew as JPEGs of this quality, 1..100, where that saves a tenth of "
           "the bytes; 0: only those that --max-side reduces, with 90",
           FIELD(pack.quality)),
       row("raw-share", kPack | kPrepare, "SHARE",
           "share of the images, drawn by their place, that are kept as pixels, 0..1",
           FIELD(pack.raw_share)),
       row("index", kPack | kPrepare, "",
           "keep with each baseline JPEG where its parts begin (up to 4 % of its size)",
           FIELD(pack.index)),
       memory_row("shard-size", kPack | kPrepare | kCommon,
                  "make DEST a folder of files of about so many bytes; 0: one file",
                  FIELD(pack.shard_bytes)),
       row("overwrite", kPack | kCommon, "", "replace DEST when it is a packed set",
           FIELD(pack.overwrite)),
       row("info", kPack | kCommon, "", "describe the packed set that is named", FIELD(info)),
       row("verify", kPack | kCommon, "",
           "read all of the packed set that is named, and name what is damaged", FIELD(verify))});
}

void add_measuring(std::vector<Option>& table) {
  add(table, "Measuring",
      {row("train", kBench | kCommon, "",
           "measure training's random crops, as it does when nothing is said", FIELD(bench.train)),
       row("eval", kBench | kCommon, "", "evaluation's views instead", FIELD(bench.eval)),
       choice<data::Resize>(
           "mode", kBench | kCommon, "how training images are resized: see train --resize",
           {{"exact", data::Resize::exact}, {"fast", data::Resize::fast}}, FIELD(bench.mode)),
       row("seconds", kBench | kCommon, "S", "seconds of each measurement", FIELD(bench.seconds)),
       row("wanted", kBench | kCommon, "RATE",
           "images/s to find the number of threads for; 0: none", FIELD(bench.wanted))});
}

}  // namespace shoal::app
