// Rows of the option table for the section on augmentation.
#include "app/options/option_row.h"
#include "app/options/table/groups.h"
#include "data/augment/policy.h"
#include "data/augment/settings.h"

namespace shoal::app {

using train::MayDiffer;

namespace {

// Row for a text option that `check` validates. `check` throws std::invalid_argument with the
// expected form.
template <class Field, class Check>
Option checked_row(const char* name, const char* placeholder, const std::string& help, Check check,
                   Field field) {
  Option option = row(name, kTrain, placeholder, help, field).of_training().changes_results();
  option.set = [field, check](Arguments& arguments, const std::string& text) {
    check(text);
    field.in(arguments) = text;
  };
  return option;
}

// Row for the probability that an augmentation changes an image.
template <class Field>
Option probability_row(const char* name, const char* help, Field field) {
  return row(name, kTrain, "P", help, field)
      .within(0, 1)
      .off_is("0")
      .of_training()
      .changes_results();
}

void add_mixing(std::vector<Option>& table, const char* group) {
  add(table, group,
      {row("mixup", kTrain, "ALPHA",
           "Mixup: blend pairs of images with a ratio from Beta(ALPHA, ALPHA); 0: off",
           JOB(mix.mixup))
           .within(0, 100)
           .off_is("0")
           .of_training()
           .changes_results(),
       row("cutmix", kTrain, "ALPHA",
           "CutMix: paste a rectangle from another image; its share of the area is drawn from "
           "Beta(ALPHA, ALPHA); 0: off",
           JOB(mix.cutmix))
           .within(0, 100)
           .off_is("0")
           .of_training()
           .changes_results(),
       row("mixup-prob", kTrain, "P",
           "Probability of applying mixup or cutmix to a step, pair or image (see --mixup-mode)",
           JOB(mix.mix))
           .within(0, 1)
           .of_training()
           .changes_results(),
       row("mixup-switch-prob", kTrain, "P",
           "Probability of cutmix instead of mixup when both are on", JOB(mix.switch_mix))
           .within(0, 1)
           .of_training()
           .changes_results(),
       choice<data::MixMode>(
           "mixup-mode", kTrain,
           "Draw the parameters of mixup and cutmix once per step (batch), per pair of images "
           "(pair) or per image (elem); half: like pair, but each pair yields one image, so an "
           "epoch has half the steps",
           {{"batch", data::MixMode::batch},
            {"pair", data::MixMode::pair},
            {"elem", data::MixMode::elem},
            {"half", data::MixMode::half}},
           JOB(mix.mode))
           .of_training()
           .changes_results(),
       probability_row("random-erase", "Probability of erasing rectangles in an image",
                       JOB(mix.erase)),
       choice<data::EraseFill>("random-erase-mode", kTrain,
                               "Fill of an erased rectangle: the mean color (const), one random "
                               "color (rand) or noise (pixel)",
                               {{"const", data::EraseFill::constant},
                                {"rand", data::EraseFill::color},
                                {"pixel", data::EraseFill::noise}},
                               JOB(mix.erase_fill))
           .of_training()
           .changes_results(),
       row("random-erase-count", kTrain, "N", "Maximum number of rectangles erased per image",
           JOB(mix.erase_count))
           .within(1, data::kMaxErasures)
           .of_training()
           .changes_results(),
       row("random-erase-area-min", kTrain, "FRACTION",
           "Smallest total erased area, as a fraction of the image", JOB(mix.erase_area_min))
           .within(1e-4, 1)
           .of_training()
           .changes_results(),
       row("random-erase-area-max", kTrain, "FRACTION",
           "Largest total erased area, as a fraction of the image", JOB(mix.erase_area_max))
           .within(1e-4, 1)
           .of_training()
           .changes_results(),
       row("random-erase-ratio", kTrain, "X",
           "Smallest aspect ratio (height / width) of an erased rectangle; the largest is 1/X",
           JOB(mix.erase_ratio))
           .within(0.01, 1)
           .of_training()
           .changes_results()});
}

}  // namespace

void add_augmentation(std::vector<Option>& table) {
  const char* const group = "Augmentation of training images, after crop and flips";
  add(table, group,
      {checked_row("auto-augment", "POLICY",
                   "Augmentation policy: " + data::augment::policy_names() +
                       "; imagenet, ra-m9-n2 and trivial are torchvision's, the others timm's; the "
                       "numbers after m, n, mstd, inc and w can be changed",
                   data::augment::parse_policy, JOB(augment.policy))
           .off_is("none"),
       checked_row("color-jitter", "X|B,C,S|B,C,S,H",
                   "Random brightness, contrast and saturation (factors within 1 +- B, C, S) and "
                   "hue (shift within +- H of the hue circle, H <= 0.5; 0 if not given); a single "
                   "X sets B, C and S; 0: off",
                   data::augment::parse_jitter, JOB(augment.color_jitter))
           .off_is("0")
           .spells_lists(","),
       probability_row("grayscale", "Probability of converting an image to grayscale",
                       JOB(augment.grayscale)),
       probability_row("gaussian-blur",
                       "Probability of blurring an image (Gaussian, sigma from 0.1 to 2 pixels)",
                       JOB(augment.gaussian_blur)),
       probability_row("solarize",
                       "Probability of solarizing an image: inverting all pixel values >= 128",
                       JOB(augment.solarize)),
       row("strength-schedule", kTrain, "LIST",
           "Multiply the strength of RandAugment, AugMix, mixup, cutmix and dropout by a factor "
           "that varies by epoch: comma-separated points EPOCH:X, linearly interpolated",
           JOB(strength_schedule))
           .off_is("none")
           .spells_lists(",:")
           .of_training()
           .changes_results(),
       row("repeated-augmentation", kTrain, "N",
           "Repeat each image N times within an epoch, each time augmented differently; the epoch "
           "length is unchanged, so an epoch covers only 1/N of the images",
           JOB(repeated_augmentation))
           .within(1, 64)
           .off_is("1")
           .of_training()
           .changes_results(MayDiffer::between_epochs, kWithinEpoch)});
  add_mixing(table, group);
}

}  // namespace shoal::app
