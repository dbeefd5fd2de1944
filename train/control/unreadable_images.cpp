#include "train/control/unreadable_images.h"

#include <algorithm>

#include "base/log.h"

namespace shoal::train {

int64_t UnreadableImages::take_new(int64_t in_epoch) {
  const int64_t count = in_epoch - seen_here_;
  seen_here_ = in_epoch;
  return count;
}

std::string UnreadableImages::add(int64_t count, int64_t step_in_epoch) {
  in_epoch_ += count;
  if (count == 0) return "";
  // If the length of the stream is unknown, the limit is 1 % of the images so far, but at least 100
  // images, so that a few unreadable ones at the start do not stop the run.
  const int64_t seen = step_in_epoch * job_.global_batch_size * job_.mix.images_per_row();
  const int64_t all = job_.open_ended ? std::max<int64_t>(seen, 10'000) : job_.train_images;
  if (static_cast<double>(in_epoch_) <= 0.01 * static_cast<double>(all)) return "";
  return strf(
      "%ld of %ld training images could not be read so far, more than 1 %%; the log names them. "
      "Repair or replace them and continue with --resume; if you remove them, start a new run",
      in_epoch_, all);
}

}  // namespace shoal::train
