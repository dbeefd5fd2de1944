// Times the data loader and its parts, for bench/loader (comparison with other loaders) and
// bench/sources (comparison of formats). SOURCE: as for shoal train --train.
//
//   loader_bench crops DIR PASSES bilinear|bicubic [index] [fast] [augment=POLICY]
//                                                    one thread: read, decode, crop, resize, flip,
//                                                    normalize to float. index: with seek indexes
//                                                    (data/jpeg/seek_index.h), made before the
//                                                    warm-up pass. fast: resizes fast instead of
//                                                    exactly like Pillow
//   loader_bench boxes DIR PASSES                    prints LEFT TOP WIDTH HEIGHT of each box that
//                                                    `crops` uses, first for the warm-up pass
//   loader_bench loader SOURCE PASSES THREADS [DIR]  whole loader: batches of 128 at 224, uint8.
//                                                    DIR: folder for seek indexes
//   loader_bench first SOURCE THREADS                whole loader, time to the first batch
//   loader_bench pass SOURCE THREADS                 whole loader, time of one epoch
//   loader_bench read SOURCE THREADS                 reads every image once, without decoding
//   loader_bench list DIR THREADS [CACHE]            lists DIR, twice if a CACHE folder is given
//
// Prints one JSON object; `list` prints one per listing, and `boxes` prints lines of numbers.
// Exit status: 0; 1 failure; 2 usage.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include "base/now.h"
#include "base/parallel.h"
#include "data/dataset.h"
#include "data/folder/image_folder.h"
#include "data/image/crop.h"
#include "data/image/image_reader.h"
#include "data/jpeg/baseline.h"
#include "data/loader/loader.h"
#include "data/loader/transform.h"
#include "data/random.h"

namespace {

using namespace shoal::data;
using shoal::now;

// Returns the CPU time of this process. Other work on the machine hardly affects it.
double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// Converts uint8 HxWx3 to float HxWx3: (x / 255 - mean) / std. Equals torchvision's ToTensor and
// Normalize, but with a channels-last result.
#if defined(__x86_64__)
__attribute__((target_clones("avx2", "default")))
#endif
void normalize(const uint8_t* in, int64_t pixels, float* out) {
  constexpr float kMean[3] = {0.485F, 0.456F, 0.406F}, kStd[3] = {0.229F, 0.224F, 0.225F};
  constexpr int64_t kGroup = 24;  // a multiple of 3 (channels) and of 8 (floats per vector)
  float scale[kGroup], shift[kGroup];
  for (int64_t i = 0; i < kGroup; ++i) {
    scale[i] = 1 / (255 * kStd[i % 3]);
    shift[i] = kMean[i % 3] / kStd[i % 3];
  }
  for (int64_t begin = 0; begin < 3 * pixels; begin += kGroup)
    for (int64_t i = 0; i < kGroup; ++i)
      out[begin + i] = static_cast<float>(in[begin + i]) * scale[i] - shift[i];
}

void make_indexes(const Dataset& data, std::vector<jpeg::SeekIndex>& index) {
  jpeg::BaselineDecoder decoder;
  std::vector<uint8_t> bytes;
  size_t points = 0, files = 0;
  for (size_t i = 0; i < index.size(); ++i) {
    data.read(static_cast<int64_t>(i), bytes);
    if (decoder.open(bytes)) decoder.complete(index[i]);
    points += index[i].size();
    files += bytes.size();
  }
  std::fprintf(
      stderr, "index: %.2f %% of the files\n",
      100.0 * static_cast<double>(points * sizeof(jpeg::SeekPoint)) / static_cast<double>(files));
}

void crops(const Dataset& data, int passes, bool bicubic, bool indexed, bool fast,
           const std::string& policy) {
  TransformOptions options;
  options.augment.policy = policy;
  options.resize = fast ? Resize::fast : Resize::exact;
  options.interpolation = bicubic ? Interpolation::bicubic : Interpolation::bilinear;
  Transform transform(options);
  std::vector<uint8_t> bytes, row(224 * 224 * 3);
  std::vector<float> tensor(row.size());
  std::vector<jpeg::SeekIndex> index(static_cast<size_t>(indexed ? data.size() : 0));
  if (indexed) make_indexes(data, index);
  double begin = 0, busy = 0, sum = 0;
  for (int64_t pass = -1; pass < passes; ++pass) {  // pass -1 is the warm-up
    if (pass == 0) begin = now(), busy = processor_seconds();
    for (int64_t i = 0; i < data.size(); ++i) {
      data.read(i, bytes);
      transform.training_row(bytes, sample_key(0, pass, i), row.data(),
                             indexed ? &index[static_cast<size_t>(i)] : nullptr);
      normalize(row.data(), 224 * 224, tensor.data());
      sum += tensor[77];
    }
  }
  const double seconds = now() - begin;
  busy = processor_seconds() - busy;
  const auto images = static_cast<double>(data.size() * passes);
  std::printf(
      "{\"images_per_second\": %.1f, \"us_per_image\": %.1f, \"processor_us\": %.1f, "
      "\"checksum\": %.3f}\n",
      images / seconds, 1e6 * seconds / images, 1e6 * busy / images, sum);
}

void boxes(const Dataset& data, int passes) {
  ImageReader reader;
  std::vector<uint8_t> bytes;
  std::vector<Size> sizes;
  for (int64_t i = 0; i < data.size(); ++i) {
    data.read(i, bytes);
    sizes.push_back(reader.open(bytes));
  }
  for (int64_t pass = -1; pass < passes; ++pass) {
    for (int64_t i = 0; i < data.size(); ++i) {
      KeyedRandom random(
          shoal::combine(sample_key(0, pass, i), static_cast<uint64_t>(Purpose::crop)));
      random.uniform();  // discards the number that decides the flip
      const Box box =
          random_resized_crop(sizes[static_cast<size_t>(i)], TransformOptions{}, random);
      std::printf("%ld %ld %ld %ld\n", box.left, box.top, box.width, box.height);
    }
  }
}

void whole_loader(std::shared_ptr<const Dataset> data, int passes, int threads,
                  const std::string& index_dir) {
  LoaderOptions options;
  options.index_dir = index_dir;
  options.batch_size = 128;
  options.threads = threads;
  Loader loader(std::move(data), options);
  double begin = 0, busy = 0;
  int64_t images = 0;
  for (int64_t epoch = -1; epoch < passes; ++epoch) {
    if (epoch == 0) begin = now(), busy = processor_seconds();
    loader.start_epoch(epoch + 1);
    while (const Batch* batch = loader.next())
      if (epoch >= 0) images += batch->count;
  }
  const double seconds = now() - begin;
  busy = processor_seconds() - busy;
  std::printf("{\"images_per_second\": %.1f, \"processor_us\": %.1f}\n",
              static_cast<double>(images) / seconds, 1e6 * busy / static_cast<double>(images));
}

// Times the loader from opening the source to the first batch or, if `all`, to the end of an epoch.
void first_batches(const std::string& source, int threads, bool all) {
  const double begin = now();
  LoaderOptions options;
  options.batch_size = 128;
  options.threads = threads;
  Loader loader(open_dataset(source), options);
  loader.start_epoch(0);
  while (loader.next() != nullptr && all) {
  }
  std::printf("{\"seconds\": %.3f}\n", now() - begin);
}

void read_all(const std::string& source, int threads) {
  const double begin = now();
  const auto data = open_dataset(source);
  shoal::for_each_index(static_cast<size_t>(threads), threads, [&](size_t thread) {
    std::vector<uint8_t> bytes;
    for (auto i = static_cast<int64_t>(thread); i < data->size(); i += threads)
      data->read(i, bytes);
  });
  std::printf("{\"seconds\": %.3f}\n", now() - begin);
}

void list(const std::string& path, int threads, const char* cache) {
  for (int run = 0; run < (cache != nullptr ? 2 : 1); ++run) {
    const double begin = now();
    OpenOptions options;
    options.threads = threads;
    if (cache != nullptr) options.cache_dir = cache;
    const auto data = open_image_folder(path, options);
    std::printf("{\"files\": %ld, \"seconds\": %.3f}\n", data->size(), now() - begin);
  }
}

int run(int argc, char** argv) {
  const auto argument = [&](int i) { return i < argc ? argv[i] : ""; };
  const std::string mode = argument(1);
  const auto given = [&](const char* word) {
    return std::any_of(argv + 1, argv + argc,
                       [&](const char* a) { return std::strcmp(a, word) == 0; });
  };
  std::string policy = "none";
  for (int i = 1; i < argc; ++i)
    if (const std::string word = argv[i]; word.starts_with("augment=")) policy = word.substr(8);
  if (argc >= 4 && mode == "list") {
    list(argv[2], std::atoi(argv[3]), argc > 4 ? argv[4] : nullptr);
  } else if (argc >= 5 && mode == "crops") {
    crops(*open_image_folder(argv[2]), std::atoi(argv[3]), std::strcmp(argv[4], "bicubic") == 0,
          given("index"), given("fast"), policy);
  } else if (argc == 4 && mode == "boxes") {
    boxes(*open_image_folder(argv[2]), std::atoi(argv[3]));
  } else if (argc >= 5 && mode == "loader") {
    whole_loader(open_dataset(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]), argument(5));
  } else if (argc == 4 && (mode == "first" || mode == "pass")) {
    first_batches(argv[2], std::atoi(argv[3]), mode == "pass");
  } else if (argc == 4 && mode == "read") {
    read_all(argv[2], std::max(std::atoi(argv[3]), 1));
  } else {
    std::fputs("usage: see the first lines of bench/loader_bench.cpp\n", stderr);
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "loader_bench: %s\n", error.what());
    return 1;
  }
}
