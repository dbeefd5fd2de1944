#pragma once
// Options for reading and augmenting images.

#include <cstdint>
#include <string>

#include "base/normalization.h"
#include "data/progression.h"

namespace shoal::data {

// Interpolation of the resize. random: bilinear or bicubic, drawn for each training image.
enum class Interpolation { bilinear, bicubic, random };
// exact: bit-equal to Pillow 13. fast: takes less time for baseline JPEGs, with a PSNR of about
// 50 dB relative to exact (image/planar_resampler.h), and equals exact for all other images.
enum class Resize { exact, fast };
// Decoder of baseline JPEGs: our own, or libjpeg-turbo, which is slower and gives the same pixels.
enum class Decoder { shoal, turbo };
// What to do with an unreadable image. replace: use another image (training) or mark the row as
// unreadable (evaluation). error: throw.
enum class BadImages { replace, error };
// Order of the samples of an epoch. random: fully random. chunked: chunks of neighboring samples in
// random order, then the samples of each window shuffled (order.h).
enum class Order { random, chunked };
// Evaluation averages the predictions for these crops. none: the center crop; flip: the center crop
// and its mirror image; five: the center crop and the four corners; ten: these five and their
// mirror images.
enum class Views { none, flip, five, ten };

// The part of each class's training images to use (split.h).
struct Portion {
  double fraction = 1;    // share of each class's images, rounded; at least one image
  int64_t per_class = 0;  // at most this many images of each class; 0: no limit
  bool all() const { return fraction >= 1 && per_class == 0; }
};

// Augmentations of a training image after crop and flips, applied in this order.
struct AugmentOptions {
  std::string policy = "none";     // see augment/policy.h
  std::string color_jitter = "0";  // strength, see augment/settings.h; 0: off
  double grayscale = 0;            // probability of converting to gray
  double gaussian_blur = 0;        // probability of a blur; standard deviation 0.1 … 2 pixels
  double solarize = 0;             // probability of inverting the levels 128 … 255
};

inline int64_t count_of(Views views) {
  switch (views) {
    case Views::flip:
      return 2;
    case Views::five:
      return 5;
    case Views::ten:
      return 10;
    default:
      return 1;
  }
}

// How an image is decoded, cropped, resized, augmented and normalized.
struct TransformOptions {
  int64_t size = 224;                        // pixels, side of the output
  double scale_min = 0.08, scale_max = 1.0;  // fraction of the image's area that a crop covers
  double ratio_min = 3.0 / 4, ratio_max = 4.0 / 3;  // width / height of a random crop
  double hflip = 0.5, vflip = 0;  // probability of a horizontal and of a vertical flip
  // 3: RGB. 1: grayscale, converted like Pillow's convert("L") before the resize.
  int64_t channels = 3;
  // Normalization that the consumer of a batch applies (Batch::normalization). The loader itself
  // uses only the mean: timm's augmentation policies fill empty areas with it.
  Normalization normalization;
  Interpolation interpolation = Interpolation::bilinear;  // antialiased, as Pillow 13 does it
  Resize resize = Resize::exact;
  Decoder decoder = Decoder::shoal;  // turbo has no fast resize and uses no seek index
  AugmentOptions augment;
  int64_t eval_resize = 256;  // pixels, short side of the resized image before the crop
  int64_t eval_size = 224;    // pixels, side of the output in evaluation
  Views eval_views = Views::none;
};

// Which images share the random parameters of mixup and cutmix. batch: all images of a step. pair:
// two neighbors. elem: each image has its own. half: like pair, but each pair gives a single row:
// its first image mixed with its second.
enum class MixMode { batch, pair, elem, half };
// What fills an erased rectangle of the normalized image: zeros, one random color, or noise.
// Color and noise are drawn from the standard normal distribution.
enum class EraseFill : uint8_t { constant, color, noise };

// Mixup, cutmix and random erasing of the images of a training batch.
struct MixOptions {
  double mixup = 0;         // alpha of the Beta distribution; 0: off
  double cutmix = 0;        // alpha of the Beta distribution; 0: off
  double mix = 1;           // probability of applying mixup or cutmix at all
  double switch_mix = 0.5;  // if both are on: probability of cutmix
  MixMode mode = MixMode::pair;
  int64_t group = 0;  // MixMode::batch: number of images of one step, over all ranks
  bool mixes() const { return mixup > 0 || cutmix > 0; }
  // Number of images that are decoded for one row of the training input.
  int64_t images_per_row() const { return mode == MixMode::half && mixes() ? 2 : 1; }
  double erase = 0;  // probability of erasing rectangles; 0: off
  EraseFill erase_fill = EraseFill::constant;
  int64_t erase_count = 1;  // maximum number of rectangles per image, 1 … kMaxErasures
  // Area of all rectangles together, as a fraction of the image's area.
  double erase_area_min = 0.02, erase_area_max = 1.0 / 3;
  double erase_ratio = 0.3;  // smallest height / width; the largest is its inverse
};
inline constexpr int64_t kMaxErasures = 4;

struct LoaderOptions {
  // These options change the result.
  uint64_t seed = 0;
  bool train = true;  // true: random order and augmentation; false: listing order and center crop
  TransformOptions transform;
  Progression progression;  // schedules for training; `size` is ignored, see sides()
  MixOptions mix;
  Order order = Order::random;
  // Class-balanced sampling in training, 0 to 1 (loader/balance.h). A class of n images gets a
  // share of the epoch proportional to n^(1 - balance). 0: off, each image once per epoch.
  double balance = 0;
  // How often an epoch shows each of its images, augmented differently each time. The length of an
  // epoch stays the same, so it uses only 1/repeats of the dataset (loader/feed.h).
  int64_t repeats = 1;
  BadImages bad_images = BadImages::replace;
  // Number of images per batch of this rank. If mixup or cutmix is on, this number must be even.
  // With MixMode::half, it is twice the number of rows of the training input.
  int64_t batch_size = 32;
  // Maximum number of batches per epoch on this rank. 0: no limit.
  int64_t batches = 0;
  // Evaluation: each host has its own part of the data, so the number of images may differ between
  // hosts.
  bool uneven = false;
  // Rank of this process among the `world_size` processes that share the images. If each host has
  // its own part of the data, only the processes of this host count.
  int64_t rank = 0, world_size = 1;
  // Returns the schedule of the output size: in training `progression` with transform.size, in
  // evaluation the constant transform.eval_size.
  Progression sides() const {
    Progression sides = train ? progression : Progression();
    sides.size = train ? transform.size : transform.eval_size;
    return sides;
  }
  // These options change only the speed.
  int threads = 1;        // worker threads
  int64_t hosts = 1;      // number of hosts that read parts of the same epoch order
  int batches_ahead = 3;  // batches prefetched or in progress
  bool hash = false;      // computes LoaderStats::hash, for debugging
  bool profile = false;   // measures stage times
  // Folder for the seek indexes of this dataset's JPEGs (jpeg/index_store.h); empty: none are
  // stored.
  std::string index_dir;
};

// How long to wait for a pipe.
struct PipePatience {
  double appear_seconds = 120;  // until the pipe exists, and again until a writer opens it
  double stall_seconds = 1800;  // until the writer sends its first or next bytes
};

// How the processes of one host share a pipe (stream/relay.h).
struct StreamRelay {
  std::string folder;  // contains only the pipes between the processes
  // Index of this process among the `count` processes of the host. Process 0 reads the pipe.
  int64_t place = 0, count = 1;
};

inline constexpr int64_t kMaxJpegSide = 65500;  // pixels; libjpeg-turbo writes no larger images

// Options for writing packed sets (pack/writer.h).
struct PackOptions {
  // Maximum length of the longer side, in pixels; 0: no limit. Larger images are reduced and
  // encoded again.
  int64_t max_side = 0;
  // JPEG quality, 1 … 100: encodes every image again, with 4:2:0 chroma. Keeps the result if the
  // image was reduced or the result is at least 10 % smaller. 0: encodes only reduced images again,
  // with quality 90.
  int quality = 0;
  double raw_share = 0;  // fraction of images stored as raw pixels, chosen by a hash of their index
  bool index = true;     // stores seek indexes of baseline JPEGs
  // Approximate size of a file, in bytes; writes a folder of such files. 0: writes a single file.
  int64_t shard_bytes = 0;
  // Value of --tfrecord-keys. An interrupted pack continues only with the same value.
  std::string reading;
  bool overwrite = false;
  int threads = 1;
  // Seconds between fsyncs. After an interruption, images written since the last fsync are read
  // back and checked.
  double flush_seconds = 10;
};

}  // namespace shoal::data
