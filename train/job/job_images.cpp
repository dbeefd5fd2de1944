#include "train/job/job_images.h"

#include <charconv>

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
          "--size-schedule and --strength-schedule follow the epochs, whose number --time-budget "
          "does not fix; omit them, or give --epochs without --time-budget");
  progression_of(job);
}

namespace {

constexpr int64_t kSmallest = 32, kLargest = 4096;  // pixels

data::Course course_of(const Job& job, const std::string& option, const std::string& text,
                       double low, double high) {
  const auto fail = [&](const std::string& must) {
    throw UserError(option + " is '" + text + "'; it must be " + must);
  };
  data::Course course;
  try {
    course = data::parse_course(text).over(job.epochs);
  } catch (const std::invalid_argument& error) {
    fail(error.what());
  }
  double before = 0;
  for (const auto& [epoch, value, share] : course.points) {
    if (epoch < before) fail("in the order of the epochs");
    if (value < low || value > high) fail("of values from " + number(low) + " to " + number(high));
    before = epoch;
  }
  return course;
}

// Parses --multi-scale: "MIN-MAX".
void read_scales(const std::string& text, data::Progression& progression) {
  const char* const end = text.data() + text.size();
  const auto least = std::from_chars(text.data(), end, progression.smallest);
  const bool dash = least.ec == std::errc() && least.ptr != end && *least.ptr == '-';
  const auto most = std::from_chars(dash ? least.ptr + 1 : end, end, progression.largest);
  const auto fits = [](int64_t side) {
    return side >= kSmallest && side <= kLargest && side % data::Progression::kStep == 0;
  };
  require(
      dash && most.ec == std::errc() && most.ptr == end && fits(progression.smallest) &&
          fits(progression.largest) && progression.smallest <= progression.largest,
      "--multi-scale is '" + text + "'; it must be MIN-MAX, both multiples of 32 pixels (160-288)");
}

}  // namespace

data::Progression progression_of(const Job& job) {
  data::Progression progression;
  progression.sizes = course_of(job, "--size-schedule", job.size_schedule, kSmallest, kLargest);
  progression.strengths = course_of(job, "--strength-schedule", job.strength_schedule, 0, 10);
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
  options.hash = train && job.log_level == "debug";  // on all ranks, because they sum the hashes
  return options;
}

}  // namespace shoal::train
