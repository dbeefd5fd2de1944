#include "train/run/job_images.h"

#include <charconv>

#include "data/augment/policy.h"
#include "data/augment/settings.h"

namespace shoal::train {

std::string number(double value) {  // the shortest text that reads back as the same number
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

void check_range(const char* option, double value, double low, double high) {
  require(value >= low && value <= high, std::string(option) + " is " + number(value) +
                                             "; it must lie between " + number(low) + " and " +
                                             number(high));
}

void check_count(const char* option, std::optional<int64_t> value, int64_t most) {
  require(!value || (*value >= 1 && *value <= most),
          std::string(option) + " is " + std::to_string(value.value_or(0)) +
              "; it must be a number from 1 to " + std::to_string(most));
}

void check_images(const Job& job) {
  check_range("--val-split", job.val_split, 0, 0.9);
  require(job.val_split == 0 || job.sharded != "val",
          "--sharded val has no use with --val-split, which takes validation images from the "
          "training images");
  check_range("--mixup", job.mix.mixup, 0, 100);
  check_range("--cutmix", job.mix.cutmix, 0, 100);
  check_range("--crop-scale-max", job.crop_scale_max, 1e-4, 1);
  check_range("--crop-scale-min", job.crop_scale_min, 1e-4, job.crop_scale_max);
  check_range("--crop-ratio-max", job.crop_ratio_max, 1e-2, 100);
  check_range("--crop-ratio-min", job.crop_ratio_min, 1e-2, job.crop_ratio_max);
  check_range("--grayscale", job.augment.grayscale, 0, 1);
  check_range("--gaussian-blur", job.augment.gaussian_blur, 0, 1);
  check_range("--solarize", job.augment.solarize, 0, 1);
  check_range("--mixup-prob", job.mix.mix, 0, 1);
  check_range("--mixup-switch-prob", job.mix.switch_mix, 0, 1);
  check_range("--random-erase", job.mix.erase, 0, 1);
  check_count("--random-erase-count", job.mix.erase_count, data::kMostErasures);
  check_range("--random-erase-area-max", job.mix.erase_area_max, 1e-4, 1);
  check_range("--random-erase-area-min", job.mix.erase_area_min, 1e-4, job.mix.erase_area_max);
  check_range("--random-erase-ratio", job.mix.erase_ratio, 1e-2, 1);
  check_count("--repeated-augmentation", job.repeated_augmentation, 64);
  const auto check_text = [](const std::string& option, const std::string& value, auto parse) {
    try {
      parse(value);
    } catch (const std::invalid_argument& error) {
      throw UserError(option + " is '" + value + "'; it must be " + error.what());
    }
  };
  progression_of(job);
  check_text("--auto-augment", job.augment.policy, data::augment::parse_policy);
  check_text("--color-jitter", job.augment.color_jitter, data::augment::parse_jitter);
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

// "MIN-MAX"
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
          "--multi-scale and --size-schedule both say how large images are; leave one out");
  read_scales(job.multi_scale, progression);
  return progression;
}

data::Interpolation interpolation_named(const std::string& name) {
  if (name == "random") return data::Interpolation::random;
  return name == "bicubic" ? data::Interpolation::bicubic : data::Interpolation::bilinear;
}

const char* name(data::Interpolation filter) {
  switch (filter) {
    case data::Interpolation::random:
      return "random";
    case data::Interpolation::bicubic:
      return "bicubic";
    default:
      return "bilinear";
  }
}

namespace {

const char* name(data::MixMode mode) {
  switch (mode) {
    case data::MixMode::batch:
      return "batch";
    case data::MixMode::elem:
      return "elem";
    case data::MixMode::half:
      return "half";
    default:
      return "pair";
  }
}

const char* name(data::EraseFill fill) {
  switch (fill) {
    case data::EraseFill::color:
      return "rand";
    case data::EraseFill::noise:
      return "pixel";
    default:
      return "const";
  }
}

}  // namespace

data::LoaderOptions loader_options(const ResolvedJob& job, int64_t rank, bool train) {
  data::LoaderOptions options;
  options.seed = job.job.seed;
  options.train = train;
  options.transform = job.transform;
  if (train) options.progression = job.progression;
  if (!train) {
    options.transform.resize = data::Resize::exact;
    options.transform.interpolation = job.eval_interpolation;
  }
  if (train) options.mix = job.job.mix;
  if (train) options.order = job.job.order;
  if (train) options.repeats = job.job.repeated_augmentation;
  if (train) options.index_dir = job.index_dir;
  options.bad_images = job.job.bad_images;
  options.batch_size = job.batch_size * (train ? job.job.mix.images_per_row() : 1);
  options.rank = rank;
  options.world_size = job.world_size;
  options.threads = job.workers;
  options.hash = train && job.job.log_level == "debug";  // on every rank: the sum is collective
  return options;
}

// How training images are made.
Pairs describe_images(const Job& job) {
  return {{"size_schedule", job.size_schedule},
          {"strength_schedule", job.strength_schedule},
          {"multi_scale", job.multi_scale},
          {"crop_scale_min", number(job.crop_scale_min)},
          {"crop_scale_max", number(job.crop_scale_max)},
          {"crop_ratio_min", number(job.crop_ratio_min)},
          {"crop_ratio_max", number(job.crop_ratio_max)},
          {"auto_augment", job.augment.policy},
          {"color_jitter", job.augment.color_jitter},
          {"grayscale", number(job.augment.grayscale)},
          {"gaussian_blur", number(job.augment.gaussian_blur)},
          {"solarize", number(job.augment.solarize)},
          {"repeated_augmentation", std::to_string(job.repeated_augmentation)},
          {"mixup", number(job.mix.mixup)},
          {"cutmix", number(job.mix.cutmix)},
          {"mixup_prob", number(job.mix.mix)},
          {"mixup_switch_prob", number(job.mix.switch_mix)},
          {"mixup_mode", name(job.mix.mode)},
          {"random_erase", number(job.mix.erase)},
          {"random_erase_mode", name(job.mix.erase_fill)},
          {"random_erase_count", std::to_string(job.mix.erase_count)},
          {"random_erase_area_min", number(job.mix.erase_area_min)},
          {"random_erase_area_max", number(job.mix.erase_area_max)},
          {"random_erase_ratio", number(job.mix.erase_ratio)}};
}

}  // namespace shoal::train
