#pragma once
// Mixup, cutmix and random erasing: draws the parameters of each row; ops::prepare_batch applies
// them.

#include <cstdint>

#include "data/data_options.h"
#include "data/loader/batch.h"

namespace shoal::data {

// The row that mix_row() works on.
struct MixRequest {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t position = 0;           // in the epoch's global order
  int32_t index = 0;              // of the row in its batch
  uint64_t key = 0;               // of the image
  int64_t height = 0, width = 0;  // of the image, pixels
};

// Sets the mixing and erasing fields of the row. Partners are neighbors in the global order
// (positions 2i and 2i + 1), so the batch size must be even. The random key of a draw depends only
// on the seed, the epoch and the image, pair or step that shares the draw (MixMode). So neither
// batch size nor world size changes the result. Cutmix corrects lambda to the actual area of the
// box, as torchvision and timm do. Erasing (timm's RandomErasing) draws from the key of the image.
void mix_row(const MixOptions& options, const MixRequest& request, Row& row);

// Throws std::invalid_argument with a sentence for invalid options.
void check_mix(const MixOptions& options);

}  // namespace shoal::data
