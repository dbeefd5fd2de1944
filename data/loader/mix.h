#pragma once
// Mixup, cutmix and random erasing: decides what happens to a row after decoding;
// ops::prepare_batch does it.

#include <cstdint>

#include "data/data_options.h"
#include "data/loader/batch.h"

namespace shoal::data {

// A row that has to be mixed.
struct MixRequest {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t position = 0;           // in the global order
  int32_t index = 0;              // in its batch
  uint64_t key = 0;               // the image's
  int64_t height = 0, width = 0;  // pixels
};

// Fills partner, lambda, blend, box and erase of the row. Partners are neighbours in the global
// order (positions 2i and 2i + 1), so that batches must be even. The draw is keyed by seed, epoch
// and what shares it: the update, the pair, the position; so neither batch size nor world size
// changes it. Cutmix corrects lambda to the real area of the box, as torchvision and timm do.
// Erasing draws from the image's own key (timm's RandomErasing).
void mix_row(const MixOptions& options, const MixRequest& request, Row& row);

// Throws std::invalid_argument with a sentence.
void check_mix(const MixOptions& options);

}  // namespace shoal::data
