// Tests that the loader's threads allocate no memory per image after a warm-up. This program
// replaces malloc with a function that counts calls and forwards them to the C library.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>

#include "data/dataset.h"
#include "data/loader/loader.h"
#include "data/pack/writer.h"
#include "tests/data/sources/support.h"
#include "tests/data/support.h"

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

std::atomic<int64_t> allocations{0};
thread_local bool is_consumer = false;  // the consumer's allocations are not counted

void count_one() {
  if (!is_consumer) allocations.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

extern "C" {
void* malloc(size_t bytes) {
  count_one();
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  count_one();
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  count_one();
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  count_one();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  count_one();
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? 12 : 0;  // ENOMEM
}
}

using namespace shoal::data;

namespace {

constexpr int64_t kImages = 96, kEpochs = 8;

// JPEGs of several sizes and chroma samplings, with paths too long for the small-string buffer.
Members images() {
  constexpr Size kSizes[] = {{90, 70}, {64, 120}, {150, 50}};
  Members all;
  for (int64_t i = 0; i < kImages; ++i) {
    const Bytes jpeg = made_jpeg(i, kSizes[i % 3]);
    all.emplace_back("class_of_a_long_name_" + std::to_string(i % 4) + "/a_image_of_a_long_name_" +
                         std::to_string(i) + ".jpg",
                     std::string(jpeg.begin(), jpeg.end()));
  }
  return all;
}

LoaderOptions small() {
  LoaderOptions options;
  options.threads = 2;
  options.batch_size = 8;
  options.transform.size = options.transform.eval_size = 48;
  options.transform.eval_resize = 56;
  options.hash = true;
  return options;
}

// Returns the number of allocations by the workers in kEpochs epochs after as many warm-up epochs.
int64_t allocated_when_warm(const std::string& source, const LoaderOptions& options) {
  is_consumer = true;
  Loader loader(open_dataset(source), options);
  const auto epochs_from = [&](int64_t first) {
    const int64_t before = allocations;
    for (int64_t epoch = first; epoch < first + kEpochs; ++epoch) {
      loader.start_epoch(epoch);
      while (loader.next() != nullptr) {
      }
    }
    return allocations - before;
  };
  CHECK(epochs_from(0) > 0);  // the counter works
  return epochs_from(kEpochs);
}

// Allowed allocations: a buffer still grows for the rare crop that is larger than all before it.
constexpr int64_t kFew = kImages * kEpochs / 32;

}  // namespace

TEST_CASE("a warm loader allocates nothing per image, for every kind of source") {
  const TempFolder folder;
  for (const auto& [name, content] : images()) folder.write("folder/" + name, content);
  folder.write("images.tar", make_tar(images()));
  folder.write("images.zip", make_zip(images(), /*deflated=*/true));
  write_pack(*open_dataset(folder / "folder"), folder / "set.pack", PackOptions{});
  for (const std::string source : {"folder", "images.tar", "images.zip", "set.pack"}) {
    LoaderOptions options = small();
    INFO(source);
    CHECK(allocated_when_warm(folder / source, options) < kFew);
    options.index_dir = folder / ("indexes of " + source);
    INFO("with indexes");
    CHECK(allocated_when_warm(folder / source, options) < kFew);
  }
}

TEST_CASE("a warm loader allocates nothing per image, for every augmentation", "[slow]") {
  const TempFolder folder;
  folder.write("images.tar", make_tar(images()));
  const auto allocated = [&](const LoaderOptions& options) {
    return allocated_when_warm(folder / "images.tar", options);
  };
  LoaderOptions options = small();
  options.transform.resize = Resize::fast;
  CHECK(allocated(options) < kFew);
  options = small();
  options.transform.interpolation = Interpolation::random;
  options.mix.mixup = 0.2;
  options.transform.augment.color_jitter = "0.4";
  options.transform.augment.grayscale = options.transform.augment.gaussian_blur = 0.5;
  for (const std::string policy :
       {"rand-m9-mstd0.5-inc1", "rand-tweights", "ra-m9-n2", "trivial", "v0", "imagenet",
        "augmix-m3-w3", "augmix-b1", "three-augment"}) {
    INFO(policy);
    options.transform.augment.policy = policy;
    CHECK(allocated(options) < kFew);
  }
  options = small();
  options.train = false;
  options.transform.eval_views = Views::ten;
  CHECK(allocated(options) < kFew);
}
