#include "train/job/job_images.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace shoal::train {

void check_images(const Job& job) {
  const auto ordered = [](const char* option, double low, double high) {
    require(low <= high, std::string(option) + "-min is " + number(low) +
                             "; it must not be above " + option + "-max, " + number(high));
  };
  require(job.val_split == 0 || job.sharded != "val",
          "--sharded val does not work with --val-split, which takes validation images from the "
          "training images; use --sharded train");
  require(job.portion.fraction >= 1 || job.portion.per_class == 0,
          "--fraction and --per-class both select training images; omit one of them");
  require(job.portion.per_class == 0 || !is_sharded(job, "train"),
          "--per-class counts the images of all hosts, but with --sharded each host has its own; "
          "use --fraction");
  require(job.balance == 0 || job.order == data::Order::random,
          "--balance draws images from all of the data, so it does not work with --order chunked; "
          "omit one of them");
  require(job.balance == 0 || job.repeated_augmentation == 1,
          "--balance already uses images of small classes repeatedly, so it does not work with "
          "--repeated-augmentation; omit one of them");
  ordered("--crop-scale", job.crop_scale_min, job.crop_scale_max);
  ordered("--crop-ratio", job.crop_ratio_min, job.crop_ratio_max);
  ordered("--random-erase-area", job.mix.erase_area_min, job.mix.erase_area_max);
  require(job.time_budget == 0 || (job.size_schedule == "none" && job.strength_schedule == "none"),
          "--size-schedule and --strength-schedule follow the epochs, but with --time-budget the "
          "number of epochs is unknown; omit them, or give --epochs without --time-budget");
  progression_of(job);
}

namespace {

int64_t resize_of(const Job& job, int64_t val_size, const models::ModelInfo& model) {
  const auto crop = static_cast<double>(val_size);
  if (job.val_resize) return *job.val_resize;
  if (job.crop_pct) return static_cast<int64_t>(std::floor(crop / *job.crop_pct));
  const double ratio =
      static_cast<double>(model.eval_resize) / static_cast<double>(model.eval_size);
  return std::max<int64_t>(val_size, std::llround(crop * ratio));
}

// Returns the given values of --mean or --std, else the model's own. For grayscale images, averages
// the model's own values, and throws UserError if the given values are not all equal.
ChannelValues channel_values(const char* option, const std::optional<ChannelValues>& given,
                             const ChannelValues& own, int64_t channels) {
  if (channels == 3 || !given) return channels == 3 ? given.value_or(own) : averaged(own);
  require((*given)[0] == (*given)[1] && (*given)[1] == (*given)[2],
          std::string(option) + " is " + shoal::text_of(*given) +
              ", but images have one channel (--channels 1); give one number");
  return *given;
}

}  // namespace

data::TransformOptions evaluation_transform(const Job& job, const models::ModelInfo& model) {
  data::TransformOptions transform;
  transform.eval_size = job.val_size.value_or(job.size.value_or(model.eval_size));
  transform.eval_resize = resize_of(job, transform.eval_size, model);
  transform.eval_views = job.views;
  transform.channels = job.channels.value_or(model.channels);
  transform.normalization = {
      channel_values("--mean", job.mean, model.normalization.mean, transform.channels),
      channel_values("--std", job.std, model.normalization.std, transform.channels)};
  const auto own = model.bicubic ? data::Interpolation::bicubic : data::Interpolation::bilinear;
  transform.interpolation = job.interpolation.value_or(own);
  if (transform.interpolation == data::Interpolation::random) transform.interpolation = own;
  return transform;
}

namespace {

data::EpochSchedule epoch_schedule_of(const Job& job, const std::string& option,
                                      const std::string& text, double low, double high) {
  const auto fail = [&](const std::string& must) {
    throw UserError(option + " is '" + text + "'; it must be " + must);
  };
  data::EpochSchedule schedule;
  try {
    schedule = data::parse_epoch_schedule(text).over(job.epochs);
  } catch (const std::invalid_argument& error) {
    fail(error.what());
  }
  double before = 0;
  for (const auto& [epoch, value, share] : schedule.points) {
    if (epoch < before) fail("in the order of the epochs");
    if (value < low || value > high)
      fail("a list of values from " + number(low) + " to " + number(high));
    before = epoch;
  }
  return schedule;
}

// Parses --multi-scale: "MIN-MAX".
void read_scales(const std::string& text, data::Progression& progression) {
  const char* const end = text.data() + text.size();
  const auto least = std::from_chars(text.data(), end, progression.smallest);
  const bool dash = least.ec == std::errc() && least.ptr != end && *least.ptr == '-';
  const auto most = std::from_chars(dash ? least.ptr + 1 : end, end, progression.largest);
  const auto fits = [](int64_t side) {
    return side >= Job::kSmallestSide && side <= Job::kLargestSide &&
           side % data::Progression::kStep == 0;
  };
  require(dash && most.ec == std::errc() && most.ptr == end && fits(progression.smallest) &&
              fits(progression.largest) && progression.smallest <= progression.largest,
          "--multi-scale is '" + text + "'; it must be MIN-MAX, both multiples of " +
              std::to_string(data::Progression::kStep) + " pixels (160-288)");
}

}  // namespace

data::Progression progression_of(const Job& job) {
  data::Progression progression;
  progression.sizes = epoch_schedule_of(job, "--size-schedule", job.size_schedule,
                                        Job::kSmallestSide, Job::kLargestSide);
  progression.strengths =
      epoch_schedule_of(job, "--strength-schedule", job.strength_schedule, 0, 10);
  if (job.multi_scale == "none") return progression;
  require(progression.sizes.empty(),
          "--multi-scale and --size-schedule both set the size of training images; omit one");
  read_scales(job.multi_scale, progression);
  return progression;
}

data::LoaderOptions loader_options(const ResolvedJob& job, int64_t rank, bool train) {
  data::LoaderOptions options;
  options.seed = job.seed;
  options.train = train;
  options.transform = job.transform;
  if (train) options.progression = job.progression;
  if (!train) {
    options.transform.resize = data::Resize::exact;
    options.transform.interpolation = job.val_interpolation;
  }
  if (train) options.mix = job.mix;
  if (train) options.order = job.order;
  if (train) options.repeats = job.repeated_augmentation;
  if (train) options.balance = job.balance;
  if (train) options.index_dir = job.index_dir;
  options.bad_images = job.bad_images;
  options.batch_size = job.batch_size * (train ? job.mix.images_per_row() : 1);
  options.rank = rank;
  options.world_size = job.world_size;
  options.threads = job.workers;
  options.hash = train && job.log_level == "debug";  // on every rank, because the hashes are summed
  return options;
}

}  // namespace shoal::train
