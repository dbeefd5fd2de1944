#pragma once
// Machines and data sets for tests that resolve settings.

#include "train/job/job.h"

namespace shoal::train {

// Returns a machine with four processors, 1000 training and 100 validation images, and 10 classes.
inline Surroundings surroundings(int64_t world = 1) {
  Surroundings s;
  s.world_size = s.local_world_size = world;
  s.train_images = 1000;
  s.val_images = 100;
  s.classes = 10;
  s.processors = 4;
  s.model.name = "efficientnet_b2";
  s.model.train_size = 260;
  s.model.eval_size = 288;
  s.model.eval_resize = 288;
  s.model.bicubic = true;
  return s;
}

}  // namespace shoal::train
