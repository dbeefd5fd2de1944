#pragma once
// Settings of reading and augmenting images.

#include <cstdint>
#include <string>

#include "data/loader/progression.h"

namespace shoal::data {

// random, of training images: either, for each image anew.
enum class Interpolation { bilinear, bicubic, random };
// exact: what Pillow 13 gives, bit for bit. fast: from baseline JPEGs within about 50 dB of that,
// sooner (planar_resampler.h); other images as exact.
enum class Resize { exact, fast };
// Who decodes baseline JPEGs: we, or libjpeg-turbo, which gives the same pixels more slowly.
enum class Decoder { shoal, turbo };
enum class BadImages { replace, error };
// Of an epoch's images: random, or random among those that lie near each other for a while
// (order.h).
enum class Order { random, chunked };
// What evaluation looks at of each image: the centre crop; it and its mirror image; it and the
// four corners; those and their mirror images.
enum class Views { none, flip, five, ten };

// What changes a training image's colours and shape after crop and flip, in this order.
struct AugmentOptions {
  // Changes the result.
  std::string policy = "none";     // its operations: see augment/policy.h
  std::string color_jitter = "0";  // how far colours go: see augment/augmenter.h; 0: not at all
  double grayscale = 0;            // probability of a grey image
  double gaussian_blur = 0;        // probability of a blur with a deviation of 0.1 … 2 pixels
  double solarize = 0;             // probability of inverting the levels from 128 on
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

struct TransformOptions {
  // Changes the result.
  int64_t size = 224;                        // pixels, side of the output
  double scale_min = 0.08, scale_max = 1.0;  // share of the image's area a random crop covers
  double ratio_min = 3.0 / 4, ratio_max = 4.0 / 3;        // width / height of a random crop
  double flip = 0.5;                                      // probability of a horizontal flip
  Interpolation interpolation = Interpolation::bilinear;  // antialiased, as Pillow 13 does it
  Resize resize = Resize::exact;
  Decoder decoder =
      Decoder::shoal;  // with turbo there is no fast resize, and no seek index is used
  AugmentOptions augment;
  int64_t eval_resize = 256;  // pixels, short side before the centre crop of eval_size
  int64_t eval_size = 224;    // pixels, side of the output in evaluation
  Views eval_views = Views::none;
};

// What shares one draw of mixup and cutmix: the images of one update, two neighbours, or each
// image has its own. half: as pair, and of two neighbours only the first goes on, with the second
// in it.
enum class MixMode { batch, pair, elem, half };
// What stands in an erased rectangle of the normalised image: zeros, one random colour, noise;
// the latter two are drawn from the standard normal distribution.
enum class EraseFill : uint8_t { constant, color, noise };

struct MixOptions {
  // Changes the result.
  double mixup = 0;         // alpha of the Beta distribution; 0: off
  double cutmix = 0;        // alpha; 0: off
  double mix = 1;           // probability that a draw mixes at all
  double switch_mix = 0.5;  // with both on, probability of cutmix
  MixMode mode = MixMode::pair;
  int64_t group = 0;  // MixMode::batch: images of one update, over all ranks
  bool mixes() const { return mixup > 0 || cutmix > 0; }
  // Images that become one row of what is trained on.
  int64_t images_per_row() const { return mode == MixMode::half && mixes() ? 2 : 1; }
  double erase = 0;  // probability of erasing rectangles; 0: off
  EraseFill erase_fill = EraseFill::constant;
  int64_t erase_count = 1;  // most rectangles, at most kMostErasures; they share the area
  double erase_area_min = 0.02, erase_area_max = 1.0 / 3;  // share of the image, all together
  double erase_ratio = 0.3;  // smallest height / width; the largest is its inverse
};
inline constexpr int64_t kMostErasures = 4;

struct LoaderOptions {
  // Changes the result.
  uint64_t seed = 0;
  bool train = true;  // keyed random order and augmentation, or listing order and centre crop
  TransformOptions transform;
  Progression progression;  // of training images; its size is transform.size: see sides()
  MixOptions mix;
  Order order = Order::random;
  // Each image of an epoch so many times, each time looking different; the epoch's length stays,
  // so that it holds that many times fewer different images (data/loader/feed.h).
  int64_t repeats = 1;
  BadImages bad_images = BadImages::replace;
  int64_t batch_size = 32;  // rows per batch of this rank; even when mixing
  // Batches of an epoch, where the data has more; of a stream, at most. 0: all there are.
  int64_t batches = 0;
  // Evaluation: rank and world_size are those of a host, and other hosts have other images.
  bool uneven = false;
  int64_t rank = 0, world_size = 1;
  Progression sides() const {
    Progression sides = train ? progression : Progression();
    sides.size = train ? transform.size : transform.eval_size;
    return sides;
  }
  // Changes only the speed.
  int threads = 1;        // workers
  int64_t hosts = 1;      // that read this order, each its own part of every batch
  int batches_ahead = 3;  // finished or half-finished batches kept ready
  bool hash = false;      // keep the epoch's hash (debugging)
  bool profile = false;   // keep stage times
  // Folder for the seek indexes of JPEGs (jpeg/index_store.h), of this dataset only; empty: none.
  std::string index_dir;
};

// How long a pipe is waited for.
struct PipePatience {
  double appear_seconds = 120;  // for the pipe to be there, and for a writer to open it
  double stall_seconds = 1800;  // for the next bytes
};

// Several processes of a host that share one pipe (stream/relay.h).
struct StreamRelay {
  std::string folder;            // where they meet; the same for all, and for nobody else
  int64_t place = 0, count = 1;  // which of how many this is; the first reads the pipe
};

// Of packed sets (pack/writer.h).
struct PackOptions {
  // Images whose longer side has more pixels are reduced to that and encoded anew; 0: none are.
  int64_t max_side = 0;
  // JPEG quality, 1 … 100, 4:2:0, with which every image is encoded anew that gets a tenth smaller;
  // 0: only those that are reduced, with 90.
  int quality = 0;
  double raw_share = 0;  // of images, drawn by their place, that are kept as pixels
  bool index = true;     // seek indexes of baseline JPEGs
  // Files of about so many bytes, in a folder; 0: one file.
  int64_t shard_bytes = 0;
  bool overwrite = false;
  int threads = 1;
  // So often what is done is brought to the disk; what came later is read again when an interrupted
  // set is taken up.
  double flush_seconds = 10;
};

}  // namespace shoal::data
