#pragma once
// Mixup, cutmix and random erasing: decides what happens to a row after decoding;
// ops::prepare_batch does it.

#include <cstdint>

#include "data/batch.h"
#include "data/data_options.h"

namespace shoal::data {

// Fills partner, lambda, blend, box and erase of the row at index `index` of its batch. Partners
// are neighbours in the global order (positions 2i and 2i + 1). The draw is keyed by seed, epoch
// and what shares it: the update, the pair, the position; so neither batch size nor world size
// changes it. Cutmix corrects lambda to the real area of the box, as torchvision and timm do. `key`
// is the picture's own; erasing draws from it (timm's RandomErasing).
struct MixRequest {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t position = 0;
  int32_t index = 0;
  uint64_t key = 0;
  int64_t height = 0, width = 0;
};
void mix_row(const MixOptions& options, const MixRequest& request, Row& row);

// True when rows are mixed in pairs, so that batches must be even.
inline bool pairs_rows(const MixOptions& options) {
  return options.mixes();
}

// Throws std::invalid_argument with a sentence.
void check_mix(const MixOptions& options);

}  // namespace shoal::data
