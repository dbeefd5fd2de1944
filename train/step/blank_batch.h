#pragma once
// A substitute batch for a rank that cannot read its images but must take part in the step's
// collectives: two rows of black images. Their loss is NaN, so no rank commits the step.

#include <cstdint>
#include <vector>

#include "data/loader/batch.h"

namespace shoal::train {

class BlankBatch {
 public:
  BlankBatch(int64_t images_per_row, int64_t channels);
  BlankBatch(const BlankBatch&) = delete;
  BlankBatch& operator=(const BlankBatch&) = delete;

  const data::Batch& batch() const { return batch_; }

 private:
  std::vector<uint8_t> memory_;
  std::vector<data::Row> rows_;
  data::Batch batch_;
};

}  // namespace shoal::train
