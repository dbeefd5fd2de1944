#include "train/job_pictures.h"

#include <charconv>

#include "data/augment/policy.h"
#include "data/augment/settings.h"

namespace shoal::train {

std::string number(double value) {  // the shortest text that reads back as the same number
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

void require(bool ok, const std::string& sentence) {
  if (!ok) throw UserError(sentence);
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

void check_pictures(const Job& job) {
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
  check_text("--auto-augment", job.augment.policy, data::augment::parse_policy);
  check_text("--color-jitter", job.augment.color_jitter, data::augment::parse_jitter);
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
  return mode == data::MixMode::batch ? "batch" : mode == data::MixMode::elem ? "elem" : "pair";
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

// How training pictures are made.
Pairs describe_pictures(const Job& job) {
  return {{"crop_scale_min", number(job.crop_scale_min)},
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
