#pragma once
// Settings of reading and augmenting pictures.

#include <cstdint>
#include <string>

namespace shoal::data {

enum class Interpolation { bilinear, bicubic };
// exact: what Pillow gives, bit for bit. fast: from baseline JPEGs within about 50 dB of that, sooner
// (planar_resampler.h); other pictures as exact.
enum class Resize { exact, fast };
// Who decodes baseline JPEGs: we, or libjpeg-turbo, which gives the same pixels more slowly.
enum class Decoder { shoal, turbo };
enum class BadImages { replace, error };
// Of an epoch's pictures: random, or random among those that lie near each other for a while
// (order.h).
enum class Order { random, chunked };

struct TransformOptions {
  // Changes the result.
  int64_t size = 224;                        // pixels, side of the output
  double scale_min = 0.08, scale_max = 1.0;  // share of the picture's area a random crop covers
  double ratio_min = 3.0 / 4, ratio_max = 4.0 / 3;        // width / height of a random crop
  double flip = 0.5;                                      // probability of a horizontal flip
  Interpolation interpolation = Interpolation::bilinear;  // antialiased, as Pillow does it
  Resize resize = Resize::exact;
  Decoder decoder = Decoder::shoal;  // with turbo there is no fast resize, and no seek index is used
  int64_t eval_resize = 256;  // pixels, short side before the centre crop of eval_size
  int64_t eval_size = 224;    // pixels, side of the output in evaluation
};

struct MixOptions {
  double mixup = 0;   // alpha of the Beta distribution; 0: off
  double cutmix = 0;  // alpha; with both on, each pair takes one of them with probability 1/2
  double erase = 0;   // probability of erasing one rectangle; 0: off
};

struct LoaderOptions {
  // Changes the result.
  uint64_t seed = 0;
  bool train = true;  // keyed random order and augmentation, or listing order and centre crop
  TransformOptions transform;
  MixOptions mix;
  Order order = Order::random;
  BadImages bad_images = BadImages::replace;
  int64_t batch_size = 32;  // rows per batch of this rank; even when mixing
  int64_t rank = 0, world_size = 1;
  // Changes only the speed.
  int threads = 1;        // workers
  int batches_ahead = 3;  // finished or half-finished batches kept ready
  bool hash = false;      // keep the epoch's hash (debugging)
  bool profile = false;   // keep stage times
  // Folder for the seek indexes of JPEGs (jpeg/index_store.h), of this dataset only; empty: none.
  std::string index_dir;
};

// Of packed sets (pack/writer.h).
struct PackOptions {
  // Pictures whose longer side has more pixels are reduced to that and encoded anew; 0: none are.
  int64_t max_side = 0;
  int quality = 90;      // of pictures that are encoded anew, 1 … 100; 4:2:0
  double raw_share = 0;  // of pictures, drawn by their place, that are kept as pixels
  bool index = true;     // seek indexes of baseline JPEGs
  bool overwrite = false;
  int threads = 1;
};

}  // namespace shoal::data
