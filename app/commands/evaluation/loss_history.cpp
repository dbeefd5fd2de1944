#include "app/commands/evaluation/loss_history.h"

#include <cmath>
#include <limits>

namespace shoal::app {

void LossHistory::add(const std::vector<train::ImageResult>& images) {
  for (const train::ImageResult& image : images) {
    if (!image.readable()) continue;
    Losses& losses = losses_[key(image)];
    const double loss = image.loss;
    losses.sum += std::isnan(loss) ? std::numeric_limits<double>::infinity() : loss;
    ++losses.count;
    losses.wrong |= !image.correct();
  }
}

std::vector<size_t> LossHistory::suspects(std::vector<train::ImageResult>& images,
                                          size_t count) const {
  constexpr float kNever = -1;  // less than any loss; marks images that cannot be suspects
  for (train::ImageResult& image : images) {
    const auto found = losses_.find(key(image));
    const bool known = image.readable() && found != losses_.end() && found->second.wrong;
    image.loss =
        known ? static_cast<float>(found->second.sum / static_cast<double>(found->second.count))
              : kNever;
  }
  std::vector<size_t> places = train::highest_losses(images, count);
  std::erase_if(places, [&](size_t place) { return images[place].loss < 0; });
  return places;
}

}  // namespace shoal::app
