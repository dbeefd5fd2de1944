#pragma once
// Mixup, cutmix and random erasing: draws the parameters of each row; ops::prepare_batch applies
// them.

#include <cstdint>

#include "data/data_options.h"
#include "data/loader/batch.h"

namespace shoal::data {

// Identifies a row.
struct MixRequest {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t position = 0;           // in the global order
  int32_t index = 0;              // in its batch
  uint64_t key = 0;               // of the image
  int64_t height = 0, width = 0;  // pixels
};

// Sets partner, lambda, blend, box and erase of the row. Partners are neighbours in the global order
// (positions 2i and 2i + 1), so batches must be even. The draw is keyed by seed, epoch and what
// shares it (MixMode), so neither batch size nor world size changes it. Cutmix corrects lambda to
// the real area of the box, as torchvision and timm do. Erasing draws from the key of the image
// (timm's RandomErasing).
void mix_row(const MixOptions& options, const MixRequest& request, Row& row);

// Throws std::invalid_argument with a sentence.
void check_mix(const MixOptions& options);

}  // namespace shoal::data
