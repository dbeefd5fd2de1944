#pragma once
// Everything a run can be asked for (Job), and everything it is after resolution (ResolvedJob).
//
// A Job is filled by app/ from recipes, hyperparameters and the command line; what the user may
// leave open is optional. resolve() decides the rest from global numbers, checks every value before
// a device is touched, and throws UserError with a sentence that names the option. Defaults live
// here and nowhere else. Torch-free.

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/data_options.h"
#include "models/model_options.h"
#include "train/step/optimizer_options.h"
#include "train/step/schedule.h"

namespace shoal::train {

enum class Precision { off, bf16, fp16 };
// What a run does when its loss spikes (train/run/recovery.h); each says so.
enum class OnSpike { log, checkpoint, rollback };
// Which weights --export-dir gets.
enum class ExportWeights { best, last };

// What made a run: for summary.json.
struct Provenance {
  std::string version, commit;  // of the program; the commit is "unknown" outside a git checkout
  std::string command;          // the command line, secrets masked
};

struct Job {
  // Data.
  std::string data;  // directory holding train/ and val/; empty: see train_dir, val_dir
  std::string train_dir, val_dir;  // data::open_dataset's; each overrides its half of `data`
  // Classes of validation images that carry none, and what numbers in it mean
  // (data/labels/labels.h).
  std::string val_labels, val_synsets;
  std::string tfrecord_keys;  // names of the features of TFRecords (data/records/tf_example.h)
  std::string classes_file;   // names of the classes, one in each line, in the order of labels
  // Of training images that are streamed, whose number is not known: how many an epoch has over
  // all processes, or how many updates. With neither it lasts as long as each process has images.
  std::optional<int64_t> train_samples, steps_per_epoch;
  // Images of a pipe, or with forward_reads, that each process holds to mix their order.
  int64_t shuffle_buffer = 1024;
  // Share of the training images that is held out for validation, by their paths (data/sources/split.h);
  // 0: none, there are validation images.
  double val_split = 0;
  // none | train | val | both: of which images each host holds a share of its own.
  std::string sharded = "none";
  // Tars, TFRecord and RecordIO are read from front to back (data/file.h, Reads::forward).
  bool forward_reads = false;
  data::BadImages bad_images = data::BadImages::replace;
  data::MixOptions mix;
  std::optional<int64_t> classes;  // default: as many as the data has
  std::optional<int64_t> size;     // pixels, training crop; default: the model's own
  // Side of training images by epoch, and how strong augmentation and dropout are
  // (data/loader/progression.h: parse_course); none: always the same.
  std::string size_schedule = "none", strength_schedule = "none";
  // "MIN-MAX": pixels, between which each update's training images have one side; or none.
  std::string multi_scale = "none";
  // Pixels, evaluation crop; default: the model's own, or `size` when that is given.
  std::optional<int64_t> val_size;
  // bilinear | bicubic | random; default: the model's own, which evaluation has instead of random.
  std::optional<std::string> interpolation;
  data::Resize resize = data::Resize::exact;     // of training images
  data::Order order = data::Order::random;       // likewise
  data::Decoder decoder = data::Decoder::shoal;  // changes only the speed
  double crop_scale_min = 0.08;                  // smallest share of the area a random crop covers
  double crop_scale_max = 1;                     // largest
  double crop_ratio_min = 3.0 / 4;               // smallest width / height of a random crop
  double crop_ratio_max = 4.0 / 3;               // largest
  data::AugmentOptions augment;                  // of training images
  int64_t repeated_augmentation = 1;             // times each image stands in its epoch

  // Model.
  models::ModelOptions model;
  // File or run whose weights a fresh run starts from, and eval and predict use.
  std::string weights;
  std::string weights_entry;  // of several sets of weights in that file; empty: averaged first
  bool sync_bn = false;       // batch statistics over all ranks

  // Length and batch.
  double epochs = 90;
  // Stop after so many updates; the schedule still spans `epochs`.
  std::optional<int64_t> max_steps;
  std::optional<int64_t> batch_size;  // images per process and micro-batch; default 32
  // Images per update: batch_size × world × accumulate.
  std::optional<int64_t> global_batch_size;
  // Micro-batches per update; when both batch sizes are given it follows from them.
  int64_t accumulate = 1;
  // batch_size and workers are those of a host, whose processes share them.
  bool batch_per_host = false;

  // Optimisation.
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  // The global batch size that lr is meant for; lr is scaled linearly from it.
  std::optional<int64_t> scale_lr;
  double label_smoothing = 0;
  std::optional<double> ema;  // decay of the averaged weights per update; unset: no average
  Precision amp = Precision::off;
  uint64_t seed = 0;
  // Updates in a row with a non-finite loss or gradient before the run stops.
  int64_t non_finite_limit = 10;
  OnSpike on_spike = OnSpike::log;
  double spike_ratio = 1.5;  // loss / running median that counts as a spike, above 1

  // Where and how; changes only the speed.
  std::string device = "auto";   // auto | cpu | cuda
  std::string backend = "auto";  // auto | nccl | gloo
  // Seconds that all processes have to find one another.
  double rendezvous_timeout = 900;
  // Seconds that one exchange between processes may take; above the longest pause of one of them.
  double collective_timeout = 1800;
  std::string health_check = "quick";  // off | quick | full, of hosts and network before the start
  double stall_warning = 60;  // seconds of standstill until it is said who is late; 0: never
  // Loader threads per process; default: the processors of this process's share.
  std::optional<int> workers;
  std::optional<int> threads;  // compute threads per process; default likewise

  // Output.
  std::string output = "runs/shoal";
  std::optional<std::string> checkpoint_dir;  // default: OUTPUT/checkpoints
  // Where the finished model goes (train/checkpoint/export.h); unset: nowhere.
  std::optional<std::string> export_dir;
  // best: those of the best evaluation, or the last where nothing was evaluated.
  ExportWeights export_weights = ExportWeights::best;
  // Listings of data folders, indexes of their JPEGs; unset: OUTPUT/cache in training, else none.
  std::optional<std::string> cache_dir;
  int64_t cache_bytes = 0;  // of memory per process for training images; 0: none
  bool seek_index = true;   // learn where in each JPEG its parts begin, for the next epoch
  // Updates between checkpoints; default: by time and at epoch ends only.
  std::optional<int64_t> checkpoint_steps;
  double checkpoint_minutes = 15;         // minutes between checkpoints; 0: never by time
  int64_t keep = 3;                       // newest checkpoints kept besides the best
  bool resume = false;                    // continue from the newest good checkpoint
  std::string resume_path;                // file or directory to continue from instead
  std::string checkpoint;                 // weights for eval and predict
  data::Views views = data::Views::none;  // of each image that eval averages the logits of
  bool eval_only = false;
  bool dry_run = false;            // one step on every rank, and nothing is written
  int64_t print_freq = 10;         // updates between metric lines
  std::string log_level = "info";  // debug | info | warning | error
  bool progress = true;            // a progress bar when stderr is a terminal
  bool float64 = false;  // compute in double: for checks of the arithmetic, no command line option
  bool on_platform = false;  // a SageMaker container: stop signals end with exit code 0
};

// What resolve() needs to know of the world outside.
struct Surroundings {
  int64_t rank = 0, world_size = 1, local_world_size = 1;
  int64_t train_images = 0, val_images = 0;
  bool train_streamed = false;     // train_images is not known
  bool train_whole_files = false;  // data/stream/whole_files.h
  int64_t smallest_share = 0;    // training images of the host that has the fewest; 0: all have all
  int64_t classes = 0;           // of the data
  int processors = 1;            // usable by this host's processes
  bool on_gpu = false;           // ranks compute on GPUs
  int gpu = 0;                   // this rank's
  std::string backend = "none";  // how ranks talk: none | gloo | nccl
  models::ModelInfo model;       // describe(job.model) with the resolved number of classes
};

struct ResolvedJob {
  // With every optional set that has a default; unset are then max_steps, checkpoint_steps, ema and
  // scale_lr (each "none").
  Job job;
  int64_t world_size = 1;
  int64_t batch_size = 0, global_batch_size = 0, accumulate = 1;
  int64_t train_images = 0, val_images = 0;
  int64_t steps_per_epoch = 0;  // updates; of a stream at most, see open_ended
  bool train_streamed = false, train_whole_files = false;
  // The length of an epoch is not known: it ends with the first stream, and for the schedule
  // --max-steps stands for --epochs of them.
  bool open_ended = false;
  // Each host holds images of its own, which its ranks divide among themselves.
  bool train_sharded = false, val_sharded = false;
  int64_t local_world_size = 1;
  int64_t dropped_images = 0;  // of each epoch: the last partial global batch
  int64_t total_steps = 0;     // the schedule's length
  int64_t last_step = 0;       // where this run stops: min(total_steps, max_steps)
  int64_t eval_size = 0, eval_resize = 0;
  double lr = 0;  // peak, after scaling
  int workers = 1, threads = 1;
  std::string device, backend;  // decided: cpu | cuda; none | gloo | nccl
  int gpu = 0;                  // this rank's, with device cuda
  models::ModelInfo model;
  data::TransformOptions transform;
  data::Progression progression;
  data::Interpolation eval_interpolation = data::Interpolation::bilinear;
  // Filled by app/ after resolve(), for summary.json and the seek indexes.
  std::string index_dir;                 // of the training images' seek indexes; empty: none
  std::string train_source, val_source;  // where the images are; train: empty with --eval-only
  Provenance provenance;

  // Another number of processes is another run: who meets which images depends on it.
  bool ranks_have_own_images() const {
    return train_streamed || train_whole_files || train_sharded;
  }

  // name → value of everything that changes the result, for the start block, summary.json and
  // checkpoints.
  std::vector<std::pair<std::string, std::string>> settings() const;
};

// Checks every value that can be checked without knowing data and machine. Throws UserError naming
// the option. resolve() calls it.
void check_values(const Job& job);

// Pixels of the short side before a centre crop of `eval_size`: the model's own ratio of resize to
// crop is kept (256 to 224 for ResNet, 1 for the larger EfficientNets).
int64_t evaluation_resize(int64_t eval_size, const models::ModelInfo& model);

std::string checkpoint_directory(const Job& job);  // --checkpoint-dir, else OUTPUT/checkpoints

ResolvedJob resolve(const Job& job, const Surroundings& surroundings);

// The --val-split among a checkpoint's settings; 0 where the run had none.
double val_split_in(const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace shoal::train
