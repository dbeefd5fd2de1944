#pragma once
// The settings of a run: Job contains the settings that the user gave, ResolvedJob the final ones.
//
// app/ fills a Job from recipes, hyperparameters and the command line. Its table of options checks
// each value separately. resolve() chooses the values that were not given and checks combinations
// of values; it throws UserError that names the option. Only these structs and resolve() define
// defaults. Does not use LibTorch.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/data_options.h"
#include "models/model_options.h"
#include "train/job/optimizer_options.h"
#include "train/job/saved_setting.h"
#include "train/job/schedule.h"

namespace shoal::train {

enum class Precision { off, bf16 };
// Training loss: cross-entropy of the softmax, or binary cross-entropy of each class (ops/ops.h).
enum class Loss { cross_entropy, binary };
// What a run does when its loss spikes, besides logging it (train/control/recovery.h).
enum class OnSpike { log, checkpoint, rollback };
// What a run does if it cannot write a checkpoint.
enum class OnSaveError { go_on, stop };
// Which weights are exported to --export-dir.
enum class ExportWeights { best, last };

// How a run was started, for summary.json and config.toml. Secrets are masked.
struct Provenance {
  std::string version, commit;  // shoal's version and git commit; commit: "unknown" without git
  std::string command;          // the command line
  std::string config;           // the settings, in the format of a --config file
  std::vector<std::pair<std::string, std::string>> host;  // facts about rank 0's host: name, value
};

// Options that have the same meaning in Job and ResolvedJob. resolve() may still change some
// values.
struct RunOptions {
  // Data.
  std::string data;                // directory that contains train/ and val/; may be empty
  std::string train_dir, val_dir;  // folders or files to use instead of train/ and val/ in `data`
  // val_labels: file with the classes of validation images that are not in class folders.
  // val_synsets: file that maps the numbers in val_labels to classes (data/labels/labels.h).
  std::string val_labels, val_synsets;
  std::string tfrecord_keys;  // names of the TFRecord features to read (data/records/tf_example.h)
  std::string classes_file;   // class names, one per line, in label order
  // Capacity of each process's shuffle buffer in encoded images. Used for streams and
  // forward_reads.
  int64_t shuffle_buffer = 1024;
  // Fraction of the training images held out for validation, selected by a hash of the path
  // (data/split.h). 0: validation images are given separately.
  double val_split = 0;
  data::Portion portion;         // part of the training images to use; at most one field is set
  std::string sharded = "none";  // splits that are sharded per host: none | train | val | both
  // Reads tars, zips, TFRecord and RecordIO front to back (data/file.h, Reads::forward).
  bool forward_reads = false;
  data::BadImages bad_images = data::BadImages::replace;
  data::MixOptions mix;
  // size_schedule: side of the training images in pixels, per epoch. strength_schedule: factor on
  // the strength of augmentation and dropout, per epoch. Format: data::parse_epoch_schedule
  // (data/progression.h); none: constant.
  std::string size_schedule = "none", strength_schedule = "none";
  // "MIN-MAX" in pixels: each step draws the side of its images from this range; none: off.
  std::string multi_scale = "none";
  data::Resize resize = data::Resize::exact;     // how training images are resized
  data::Order order = data::Order::random;       // order of training images
  data::Decoder decoder = data::Decoder::shoal;  // decoder of baseline JPEGs; affects only speed
  double crop_scale_min = 0.08;                  // random crop: minimum area / image area
  double crop_scale_max = 1;                     // random crop: maximum area / image area
  double crop_ratio_min = 3.0 / 4;               // random crop: minimum width / height
  double crop_ratio_max = 4.0 / 3;               // random crop: maximum width / height
  double hflip = 0.5, vflip = 0;  // probabilities of a horizontal and a vertical flip
  data::AugmentOptions augment;   // augmentation of training images
  // Class-balanced sampling: a class of n images is sampled in proportion to n^(1 - balance).
  // 0: each image once per epoch; 1: each class equally often (data/loader/balance.h).
  double balance = 0;
  int64_t repeated_augmentation = 1;  // N: an epoch uses 1/N of the images, N times each

  // Model.
  models::ModelOptions model;
  // Weights that a fresh run starts from, or that eval, predict and export use: a run, file, URL or
  // name.
  std::string weights;
  // Which entry to use if the weights file contains several sets of weights. Empty: averaged
  // weights if there are any.
  std::string weights_entry;
  // On a fresh start, loads only the tensors of `weights` that match by name and shape.
  bool load_partial = false;
  bool sync_bn = false;  // computes batch norm statistics over all ranks

  // Layers to freeze: none, all-but-head, N (first N stages), or a stage name (all stages up to and
  // including it). Batch norm in these layers uses its running statistics.
  std::string freeze = "none";
  int64_t unfreeze_epoch = 0;  // from this epoch on, all layers are trained; 0: never
  bool freeze_bn = false;      // all batch norm layers keep their weights and running statistics
  double head_lr_scale = 1;    // multiplies the learning rate of the classifier
  double layer_decay = 1;      // multiplies the learning rate once per block towards the input

  // Length and batch.
  double epochs = 90;
  int64_t eval_every = 1;  // epochs between evaluations; 0: only at the end of the run
  // Ends the run after this many consecutive evaluations without a new best top-1; 0: never.
  int64_t patience = 0;
  // Length of the run in seconds, including evaluations; 0: no limit. With a limit, the schedule
  // spans this time, and each of its epochs lasts time_budget / epochs.
  double time_budget = 0;
  // Micro-batches per step. If Job sets batch_size and global_batch_size and leaves this at 1,
  // resolve() computes it from them.
  int64_t accumulate = 1;

  // Optimization.
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  Loss loss = Loss::cross_entropy;
  double label_smoothing = 0;
  bool bce_sum = false;  // Loss::binary: sums over the classes instead of averaging
  // Class weights in the training loss: none, balanced (inversely proportional to the number of
  // images of each class), or the path of a file with classes and weights.
  std::string class_weighting = "none";
  Precision amp = Precision::off;
  // bf16: gradients are sent as bfloat16 when they are averaged over the ranks.
  Precision gradient_compression = Precision::off;
  // On a GPU, uses only algorithms that give the same bits in every run. The CPU has no others.
  bool deterministic = false;
  uint64_t seed = 0;
  // The run fails after this many consecutive steps with a non-finite loss or gradient.
  int64_t non_finite_limit = 10;
  OnSpike on_spike = OnSpike::log;
  double spike_ratio = 1.5;  // a loss above this multiple of the running median is a spike

  // Machine. These settings change at most the last bits of results.
  std::string device = "auto";         // auto | cpu | cuda; resolved: cpu | cuda
  std::string backend = "auto";        // auto | nccl | gloo; resolved: none | gloo | nccl
  double rendezvous_timeout = 900;     // seconds for all processes to connect
  double collective_timeout = 1800;    // seconds; the run fails if a rank or pipe pauses for longer
  std::string health_check = "quick";  // test of hosts and network at the start: off | quick | full
  double stall_warning = 60;           // seconds without progress before a warning; 0: never
  double lost_host_timeout = 120;  // seconds until the run ends after a rank falls silent; 0: never
  double stop_timeout = 60;        // seconds from a stop signal until the process must end

  // Output.
  std::string output = "runs/shoal";
  // best: the weights with the highest evaluation accuracy; without an evaluation, the last ones.
  ExportWeights export_weights = ExportWeights::best;
  int64_t cache_bytes = 0;  // bytes per process for caching training images; 0: none
  bool seek_index = true;   // indexes JPEGs, so that later epochs decode little more than the crop
  double checkpoint_minutes = 15;  // minutes between checkpoints; 0: never by time
  int64_t keep = 3;                // number of newest checkpoints to keep, besides the best one
  // go_on: the run logs a warning and saves again when the next checkpoint is due.
  OnSaveError on_save_error = OnSaveError::go_on;
  bool resume = false;                    // continues from the newest intact checkpoint
  std::string resume_path;                // file or directory to resume from; empty: checkpoint_dir
  std::string checkpoint;                 // checkpoint file or run folder, for eval and predict
  data::Views views = data::Views::none;  // crops per image; eval and predict average their logits
  bool eval_only = false;
  bool dry_run = false;             // runs one step on every rank and writes nothing
  int64_t print_freq = 10;          // steps (in evaluation: batches) between metric lines
  std::string log_level = "info";   // debug | info | warning | error
  std::string log_format = "text";  // text | dllogger (adds the JSON lines of NVIDIA's DLLogger)
  // Folder for TensorBoard's event file. In Job, empty means OUTPUT/tensorboard, and "none" means
  // no file. In ResolvedJob, empty means no file.
  std::string tensorboard;
  // How often to write histograms of weights and gradients to the event file: none, N (every N
  // steps) or Ne (every N epochs).
  std::string histograms = "none";
  bool progress = true;      // shows a progress bar if stderr is a terminal
  bool float64 = false;      // computes in double, for tests; has no command line option
  bool on_platform = false;  // inside a SageMaker container; a stopped run then exits with code 0
};

// Value of ResolvedJob::last_step if only --time-budget ends the run.
inline constexpr int64_t kNoLastStep = int64_t{1} << 60;

inline constexpr int64_t kDefaultBatchSize = 32;

// The settings that the user gave. resolve() chooses values for unset optionals.
struct Job : RunOptions {
  std::optional<int64_t> classes;  // default: the number of classes in the data
  // Length of an epoch of streamed training data, as images (of all processes) or as steps. If
  // neither is set, an epoch ends when any process runs out of images.
  std::optional<int64_t> train_samples, epoch_steps;
  static constexpr int64_t kSmallestSide = 32, kLargestSide = 4096;  // of crops, in pixels
  // Side of the training crop in pixels. Default: the last size in size_schedule, else the model's
  // own.
  std::optional<int64_t> size;
  // Side of the evaluation crop in pixels. Default: `size`, else the model's own.
  std::optional<int64_t> val_size;
  // Evaluation resizes the short side to this many pixels before the crop. Default: val_size /
  // crop_pct, rounded down; without crop_pct, val_size times the model's eval_resize / eval_size.
  std::optional<int64_t> val_resize;
  std::optional<double> crop_pct;
  std::optional<int64_t> channels;  // image channels: 3 (default) or 1
  // Default: the model's own values, averaged over the channels for gray images.
  std::optional<ChannelValues> mean, std;
  // Resize filter of training and evaluation. Default: the model's own. With `random`, evaluation
  // uses the model's own.
  std::optional<data::Interpolation> interpolation;
  std::optional<int64_t> max_steps;  // stop after N steps; see open_ended for the schedule
  // Images per process and micro-batch. Default: derived from global_batch_size, else
  // kDefaultBatchSize.
  std::optional<int64_t> batch_size;
  // Whether batch_size is chosen to fit into memory (--batch-size auto). resolve() ignores it.
  bool fit_batch_size = false;
  std::optional<int64_t> global_batch_size;  // images per step: batch_size × world × accumulate
  bool batch_per_host = false;  // batch_size and workers are per host and divided among its ranks
  // Global batch size that `lr` is meant for. resolve() scales `lr` linearly to global_batch_size.
  std::optional<int64_t> scale_lr;
  std::optional<double> ema;  // decay of the averaged weights per step; unset: no average
  // Loss::binary: targets above this number become 1, all others 0. Unset: they stay as they are.
  std::optional<double> bce_threshold;
  // Loader and compute threads per process; default: this process's share of the processors.
  std::optional<int> workers, threads;
  std::optional<std::string> checkpoint_dir;  // default: OUTPUT/checkpoints
  std::optional<std::string> export_dir;      // unset: no export (train/checkpoint/export.h)
  // Directory that caches listings of data folders, and the seek indexes of JPEGs. Unset:
  // OUTPUT/cache in training, otherwise none.
  std::optional<std::string> cache_dir;
  std::optional<int64_t> checkpoint_steps;  // steps between checkpoints; unset: none by steps
};

// Properties of the machine, the data and the process group that resolve() needs.
struct Surroundings {
  int64_t rank = 0, world_size = 1, local_world_size = 1;
  int64_t train_images = 0, val_images = 0;
  bool train_streamed = false;     // training images come from pipes; their number is unknown
  bool train_whole_files = false;  // files are read front to back (data/stream/whole_files.h)
  bool val_streamed = false, val_whole_files = false;  // the same for validation images
  int64_t smallest_share = 0;    // fewest training images of any host; 0: not sharded
  int64_t classes = 0;           // number of classes in the data
  int processors = 1;            // processors that this host's processes may use
  bool on_gpu = false;           // ranks compute on GPUs
  int gpu = 0;                   // this rank's GPU
  std::string backend = "none";  // none | gloo | nccl
  models::ModelInfo model;       // describe(job.model) with the resolved number of classes
  // PCI addresses of the GPUs that this host's ranks use.
  std::vector<std::string> host_gpus;
};

// The final settings of a run.
struct ResolvedJob : RunOptions {
  int64_t world_size = 1, local_world_size = 1;
  int64_t batch_size = 0, global_batch_size = 0;
  int64_t train_images = 0, val_images = 0;
  int64_t train_samples = 0, epoch_steps = 0;  // as in Job; 0: not given
  int64_t steps_per_epoch = 0;                 // streams may end earlier or, if open_ended, later
  bool train_streamed = false, train_whole_files = false;  // as in Surroundings
  bool val_streamed = false, val_whole_files = false;
  // Whether the length of an epoch is unknown, because training images are streamed and neither
  // train_samples nor epoch_steps is given. An epoch then ends as soon as the stream of any rank
  // ends. The schedule then spans max_steps, with steps_per_epoch = max_steps / epochs. If the
  // length is known, the schedule spans `epochs`, even if max_steps ends the run earlier.
  bool open_ended = false;
  // Whether each host has its own images, which are divided among its ranks.
  bool train_sharded = false, val_sharded = false;
  int64_t dropped_images = 0;  // images that each epoch drops because they do not fill a step
  int64_t total_steps = 0;     // steps that the schedule spans without --time-budget
  int64_t last_step = 0;       // step after which this run stops; kNoLastStep: none
  int64_t size = 0, val_size = 0, val_resize = 0;                     // pixels
  double crop_pct = 0;                                                // 0: not given
  data::Interpolation interpolation = data::Interpolation::bilinear;  // of training images
  data::Interpolation val_interpolation = data::Interpolation::bilinear;
  double ema = 0;             // 0: no averaged weights
  double bce_threshold = -1;  // below 0: none
  int64_t frozen_stages = 0;  // number of stages to freeze, from the input on
  int workers = 1, threads = 1;
  int gpu = 0;  // this rank's GPU, with device cuda
  // PCI addresses of the GPUs that this host's ranks use.
  std::vector<std::string> host_gpus;
  std::string checkpoint_dir;
  std::string export_dir;        // empty: none
  int64_t checkpoint_steps = 0;  // steps between checkpoints; 0: none by steps
  int64_t histogram_steps = 0;   // steps between histograms; 0: none
  models::ModelInfo model_info;
  data::TransformOptions transform;
  data::Progression progression;
  // Filled by app/ after resolve().
  std::vector<SavedSetting> settings;  // all settings that change the result
  // Class weights in the training loss, by label, scaled to a mean of 1 over the images of an
  // epoch. Empty: every class has weight 1.
  std::vector<double> class_weights;
  std::string index_dir;  // directory of the training images' seek indexes; empty: none
  std::string train_source, val_source;  // locations of the images; train: empty with --eval-only
  Provenance provenance;

  // Whether the images of a step depend on the number of processes. If so, the weights do, too.
  bool ranks_have_own_images() const {
    return train_streamed || train_whole_files || train_sharded;
  }
};

// Checks combinations of values that can be checked without knowing the data and the machine.
// Throws UserError that names the options. resolve() calls it.
void check_values(const Job& job);
// Throws UserError if batch normalization would train with only one value per channel. This happens
// with a batch of one image of at most 32x32 pixels, because the last layers reduce it to 1x1.
void require_statistics(const ResolvedJob& job);
// Throws UserError if --freeze is given without --weights. check_values() calls it unless --resume
// is given: then a checkpoint may provide the weights.
void require_start_weights(const Job& job);

// Returns 2 if mixup or cutmix mixes pairs of images of the batch, otherwise 1. The batch size of
// each process must be a multiple of the result.
int64_t batch_multiple(const RunOptions& job);

// Converts --histograms, "N" (steps) or "Ne" (N epochs), to steps between histograms; "none" gives
// 0. Throws std::invalid_argument with the expected form.
int64_t steps_of_period(const std::string& text, int64_t steps_per_epoch);

// Returns the number of stages that --freeze selects. If the value of --freeze is invalid, throws
// UserError that lists the stages.
int64_t frozen_stages(const std::string& freeze, const models::ModelInfo& model);

// Returns the preprocessing for evaluation. Throws UserError if --mean or --std does not fit the
// channels.
data::TransformOptions evaluation_transform(const Job& job, const models::ModelInfo& model);

// Whether each host has only its own shard of `split`, "train" or "val" (--sharded). With
// --val-split, `--sharded train` shards both splits, because both come from the training images.
bool is_sharded(const Job& job, const std::string& split);

inline constexpr const char* kCheckpointsFolder = "checkpoints";  // in the output folder

std::string checkpoint_directory(const Job& job);  // --checkpoint-dir, else OUTPUT/checkpoints
// Returns the folder for listings and seek indexes; empty: nothing is cached.
std::string cache_folder(const Job& job);

// Returns the final settings. Throws UserError that names the option if values do not fit together.
ResolvedJob resolve(const Job& job, const Surroundings& surroundings);

// Returns val_split from a checkpoint's settings; 0 if it is missing.
double val_split_in(const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace shoal::train
