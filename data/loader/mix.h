#pragma once
// Draws the parameters of mixup, cutmix and random erasing for each row. ops::prepare_batch applies
// them.

#include <cstdint>

#include "data/data_options.h"
#include "data/loader/batch.h"

namespace shoal::data {

// The row that mix_row() works on.
struct MixRequest {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t position = 0;           // position in the epoch's global order
  int32_t index = 0;              // index of the row in its batch
  uint64_t key = 0;               // random key of the image
  int64_t height = 0, width = 0;  // size of the image in pixels
};

// Sets the mixing and erasing fields of the row. Partners are neighbors in the global order
// (positions 2i and 2i + 1), so the batch size must be even. MixMode decides whether there is one
// draw for each step, for each pair or for each image. The random key of a draw depends only on the
// seed, the epoch, and which step, pair or image the draw is for. So the division into batches and
// ranks does not change the result. Cutmix corrects lambda to the actual area of the box, as
// torchvision and timm do. Erasing (timm's RandomErasing) draws from the key of the image.
void mix_row(const MixOptions& options, const MixRequest& request, Row& row);

// Throws std::invalid_argument if an option is invalid.
void check_mix(const MixOptions& options);

}  // namespace shoal::data
