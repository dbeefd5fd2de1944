#pragma once
// Notices what people would want to hear of a run: a loss that jumps up, falls suddenly or no
// longer falls, and updates that begin to take longer or less long. Each against running medians,
// so that noise and slow changes say nothing. Pure; not thread-safe. Torch-free.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace shoal::train {

struct LossEvent {
  const char* name;     // "loss_spike", "loss_drop" or "loss_stall"
  double loss, median;  // of a stall: the lowest medians of 100 updates, in the last 500 and before
};

class LossWatch {
 public:
  // An unusual loss is above ratio × median or below median / ratio of the last 64 ordinary ones
  // (at least 16), and further from it than 0.25 and than six standard deviations, estimated from
  // their median distance. ratio > 1.
  explicit LossWatch(double ratio) : ratio_(ratio) {}

  // The mean loss of the next update, finite. Of consecutive unusual losses the first is an event;
  // after 64 of them they are ordinary. Stall: 1000 ordinary updates of which the later half went
  // less than 0.1 % below the earlier.
  std::optional<LossEvent> add(double loss);
  // The next unusual loss is an event, whatever came before.
  void listen_again() { unusual_ = 0; }

  // Everything, for a checkpoint.
  std::string state() const;
  void restore(const std::string& state);

 private:
  std::optional<LossEvent> add_to_block(double loss);

  double ratio_;
  std::deque<double> recent_, block_, blocks_;  // ordinary losses, of this block; medians of blocks
  int64_t unusual_ = 0;                         // unusual losses in a row
};

struct SpeedEvent {
  const char* name;        // "slower" or "faster"
  double seconds, median;  // of an update: the last 16, and those before
};

class SpeedWatch {
 public:
  // Seconds of the next update. An event when the median of 16 updates is 1.5 times that of at
  // least 48 before them, or goes as far the other way; then the new speed is the ordinary one. The
  // first 8 updates do not count.
  std::optional<SpeedEvent> add(double seconds);

 private:
  std::deque<double> recent_;
  int64_t updates_ = 0;
};

}  // namespace shoal::train
