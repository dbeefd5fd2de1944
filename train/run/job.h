#pragma once
// The settings of a run: Job is what was asked for, ResolvedJob what was decided from it.
//
// app/ fills a Job from recipes, hyperparameters and the command line; the table of options checks
// each value on its own. resolve() decides what was left open, checks how values fit together, and
// throws UserError that names the option. Defaults live here and nowhere else. Torch-free.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/data_options.h"
#include "models/model_options.h"
#include "train/step/optimizer_options.h"
#include "train/step/schedule.h"

namespace shoal::train {

enum class Precision { off, bf16 };
// What a run does when its loss spikes (train/control/recovery.h); each also logs it.
enum class OnSpike { log, checkpoint, rollback };
// Which weights --export-dir gets.
enum class ExportWeights { best, last };

// What made a run: for summary.json.
struct Provenance {
  std::string version, commit;  // of the program; the commit is "unknown" outside a git checkout
  std::string command;          // the command line, secrets masked
};

// Options that mean the same before and after resolution.
struct RunOptions {
  // Data.
  std::string data;                // directory that holds train/ and val/; empty: see below
  std::string train_dir, val_dir;  // each overrides its half of `data`
  // Classes of validation images that carry none, and the meaning of the numbers in that file
  // (data/labels/labels.h).
  std::string val_labels, val_synsets;
  std::string tfrecord_keys;  // names of the features of TFRecords (data/records/tf_example.h)
  std::string classes_file;   // class names, one per line, in label order
  // Encoded images that each process holds to shuffle a stream, or files with forward_reads.
  int64_t shuffle_buffer = 1024;
  // Share of the training images held out for validation, chosen by path (data/sources/split.h);
  // 0: validation images are given separately.
  double val_split = 0;
  std::string sharded = "none";  // splits that each host holds its own part of: none|train|val|both
  // Reads tars, TFRecord and RecordIO front to back (data/file.h, Reads::forward).
  bool forward_reads = false;
  data::BadImages bad_images = data::BadImages::replace;
  data::MixOptions mix;
  // Side of training images by epoch, and strength of augmentation and dropout by epoch
  // (data/loader/progression.h: parse_course); none: constant.
  std::string size_schedule = "none", strength_schedule = "none";
  // "MIN-MAX" in pixels: each step draws the side of its training images from this range; or none.
  std::string multi_scale = "none";
  data::Resize resize = data::Resize::exact;     // of training images
  data::Order order = data::Order::random;       // of training images
  data::Decoder decoder = data::Decoder::shoal;  // changes only the speed
  double crop_scale_min = 0.08;                  // smallest share of the area a random crop covers
  double crop_scale_max = 1;                     // largest
  double crop_ratio_min = 3.0 / 4;               // smallest width / height of a random crop
  double crop_ratio_max = 4.0 / 3;               // largest
  data::AugmentOptions augment;                  // of training images
  int64_t repeated_augmentation = 1;             // times each image is repeated in an epoch

  // Model.
  models::ModelOptions model;
  // File or run whose weights a fresh run starts from, and which eval and predict use.
  std::string weights;
  std::string weights_entry;  // entry of a file with several sets of weights; empty: averaged first
  bool sync_bn = false;       // batch statistics over all ranks

  // Length and batch.
  double epochs = 90;
  // Micro-batches per step; follows when Job gives both batch sizes.
  int64_t accumulate = 1;

  // Optimisation.
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  double label_smoothing = 0;
  Precision amp = Precision::off;
  uint64_t seed = 0;
  // Consecutive steps with a non-finite loss or gradient after which the run stops.
  int64_t non_finite_limit = 10;
  OnSpike on_spike = OnSpike::log;
  double spike_ratio = 1.5;  // loss / running median that counts as a spike

  // Where and how; changes only the speed.
  std::string device = "auto";         // auto | cpu | cuda; resolved: cpu | cuda
  std::string backend = "auto";        // auto | nccl | gloo; resolved: none | gloo | nccl
  double rendezvous_timeout = 900;     // seconds for all processes to find one another
  double collective_timeout = 1800;    // seconds; above the longest pause of any process
  std::string health_check = "quick";  // off | quick | full: test of hosts and network at the start
  double stall_warning = 60;           // seconds without progress before a warning; 0: never

  // Output.
  std::string output = "runs/shoal";
  // best: those of the best evaluation, or the last when nothing was evaluated.
  ExportWeights export_weights = ExportWeights::best;
  int64_t cache_bytes = 0;         // memory per process for training images; 0: none
  bool seek_index = true;          // learn where in each JPEG its parts begin, for later epochs
  double checkpoint_minutes = 15;  // minutes between checkpoints; 0: never by time
  int64_t keep = 3;                // newest checkpoints kept besides the best
  bool resume = false;             // continue from the newest good checkpoint
  std::string resume_path;         // file or directory to continue from instead
  std::string checkpoint;          // file or run of shoal, for eval and predict
  data::Views views = data::Views::none;  // of each image, whose logits eval averages
  bool eval_only = false;
  bool dry_run = false;            // one step on every rank; writes nothing
  int64_t print_freq = 10;         // steps between metric lines
  std::string log_level = "info";  // debug | info | warning | error
  bool progress = true;            // a progress bar when stderr is a terminal
  bool float64 = false;  // compute in double: for checks of the arithmetic, no command line option
  bool on_platform = false;  // a SageMaker container: stop signals end with exit code 0
};

// What was asked for. Unset optionals are decided by resolve().
struct Job : RunOptions {
  std::optional<int64_t> classes;  // default: as many as the data has
  // Images or steps per epoch of streamed training data, over all processes. With neither, an epoch
  // lasts as long as every process has images.
  std::optional<int64_t> train_samples, epoch_steps;
  std::optional<int64_t> size;  // pixels, training crop; default: the model's own
  std::optional<int64_t>
      val_size;  // pixels, evaluation crop; default: `size`, else the model's own
  // Default: the model's own. With `random`, evaluation uses the model's own.
  std::optional<data::Interpolation> interpolation;
  std::optional<int64_t> max_steps;   // stop after N steps; the schedule still spans `epochs`
  std::optional<int64_t> batch_size;  // images per process and micro-batch; default 32
  std::optional<int64_t> global_batch_size;  // images per step: batch_size × world × accumulate
  bool batch_per_host = false;  // batch_size and workers are those of a host, shared by its ranks
  std::optional<int64_t> scale_lr;  // global batch size that lr is meant for; lr scales linearly
  std::optional<double> ema;        // decay of the averaged weights per step; unset: no average
  // Loader and compute threads per process; default: this process's share of the processors.
  std::optional<int> workers, threads;
  std::optional<std::string> checkpoint_dir;  // default: OUTPUT/checkpoints
  std::optional<std::string> export_dir;      // of the finished model (train/checkpoint/export.h)
  // Listings of data folders, seek indexes of their JPEGs; unset: OUTPUT/cache in training.
  std::optional<std::string> cache_dir;
  std::optional<int64_t> checkpoint_steps;  // steps between checkpoints; unset: by time and epoch
};

// What resolve() needs to know of the machine, the data and the process group.
struct Surroundings {
  int64_t rank = 0, world_size = 1, local_world_size = 1;
  int64_t train_images = 0, val_images = 0;
  bool train_streamed = false;     // train_images is not known
  bool train_whole_files = false;  // data/stream/whole_files.h
  int64_t smallest_share = 0;      // training images of the host with the fewest; 0: not sharded
  int64_t classes = 0;             // of the data
  int processors = 1;              // usable by this host's processes
  bool on_gpu = false;             // ranks compute on GPUs
  int gpu = 0;                     // this rank's
  std::string backend = "none";    // none | gloo | nccl
  models::ModelInfo model;         // describe(job.model) with the resolved number of classes
};

// Whether a setting may differ between a checkpoint and the run that resumes it.
enum class MayDiffer {
  always,          // a warning names what changed
  between_epochs,  // not within an epoch: it decides which images the epoch has left
  never            // the run would not be the same run
};

// A setting that changes results: printed, saved in checkpoints and summary.json, compared at
// --resume. The table of options makes them (app/options/settings/saved_settings.h).
struct SavedSetting {
  std::string name, value;  // "global_batch_size", "256"
  MayDiffer may_differ = MayDiffer::always;
  bool evaluation = false;  // evaluation depends on it as well
  std::string advice;       // what to do if it differs and must not; {}: the saved value
};

// Everything decided.
struct ResolvedJob : RunOptions {
  int64_t world_size = 1, local_world_size = 1;
  int64_t batch_size = 0, global_batch_size = 0;
  int64_t train_images = 0, val_images = 0;
  int64_t train_samples = 0, epoch_steps = 0;  // as asked; 0: not asked
  int64_t steps_per_epoch = 0;                 // of a stream at most, see open_ended
  bool train_streamed = false, train_whole_files = false;
  // The epoch's length is unknown: it ends with the first stream, and in the schedule --max-steps
  // stands for --epochs epochs.
  bool open_ended = false;
  // Each host holds its own images, which its ranks divide among themselves.
  bool train_sharded = false, val_sharded = false;
  int64_t dropped_images = 0;  // of each epoch: the last partial global batch
  int64_t total_steps = 0;     // length of the schedule
  int64_t last_step = 0;       // where this run stops: min(total_steps, max_steps)
  int64_t size = 0, val_size = 0, val_resize = 0;                     // pixels
  data::Interpolation interpolation = data::Interpolation::bilinear;  // of training images
  data::Interpolation val_interpolation = data::Interpolation::bilinear;
  double ema = 0;  // 0: no averaged weights
  int workers = 1, threads = 1;
  int gpu = 0;  // this rank's, with device cuda
  std::string checkpoint_dir;
  std::string export_dir;        // empty: none
  int64_t checkpoint_steps = 0;  // 0: by time and epoch only
  models::ModelInfo model_info;
  data::TransformOptions transform;
  data::Progression progression;
  // Filled by app/ after resolve().
  std::vector<SavedSetting> settings;    // everything that changes the result
  std::string index_dir;                 // of the training images' seek indexes; empty: none
  std::string train_source, val_source;  // where the images are; train: empty with --eval-only
  Provenance provenance;

  // The number of processes decides which images each step sees: changing it changes the run.
  bool ranks_have_own_images() const {
    return train_streamed || train_whole_files || train_sharded;
  }
};

// Checks values that depend on one another but neither on data nor machine. Throws UserError that
// names the options. resolve() calls it.
void check_values(const Job& job);

// Pixels of the short side before a centre crop of `val_size`: keeps the model's own ratio of
// resize to crop (256 to 224 for ResNet, 1 for the larger EfficientNets).
int64_t evaluation_resize(int64_t val_size, const models::ModelInfo& model);

// Whether each host holds its own share of `split`, train or val (--sharded). With --val-split both
// come from the training images.
bool is_sharded(const Job& job, const std::string& split);

std::string checkpoint_directory(const Job& job);  // --checkpoint-dir, else OUTPUT/checkpoints

ResolvedJob resolve(const Job& job, const Surroundings& surroundings);

// The val_split among a checkpoint's settings; 0 where the run had none.
double val_split_in(const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace shoal::train
