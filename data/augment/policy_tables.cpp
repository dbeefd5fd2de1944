// Operations of the published policies, in their authors' order.
#include "data/augment/policy.h"

namespace shoal::data::augment::tables {
namespace {

using enum Level;
using Sequences = std::vector<std::vector<Step>>;

// Cubuk and others, "AutoAugment: Learning Augmentation Policies from Data", 2018, ImageNet.
Sequences original(Level posterize) {
  return {{{posterize, 0.4, 8}, {rotate, 0.6, 9}},  {{solarize, 0.6, 5}, {auto_contrast, 0.6, 5}},
          {{equalize, 0.8, 8}, {equalize, 0.6, 3}}, {{posterize, 0.6, 7}, {posterize, 0.6, 6}},
          {{equalize, 0.4, 7}, {solarize, 0.2, 4}}, {{equalize, 0.4, 4}, {rotate, 0.8, 8}},
          {{solarize, 0.6, 3}, {equalize, 0.6, 7}}, {{posterize, 0.8, 5}, {equalize, 1.0, 2}},
          {{rotate, 0.2, 3}, {solarize, 0.6, 8}},   {{equalize, 0.6, 8}, {posterize, 0.4, 6}},
          {{rotate, 0.8, 8}, {color, 0.4, 0}},      {{rotate, 0.4, 9}, {equalize, 0.6, 2}},
          {{equalize, 0.0, 7}, {equalize, 0.8, 8}}, {{invert, 0.6, 4}, {equalize, 1.0, 8}},
          {{color, 0.6, 4}, {contrast, 1.0, 8}},    {{rotate, 0.8, 8}, {color, 1.0, 2}},
          {{color, 0.8, 8}, {solarize, 0.8, 7}},    {{sharpness, 0.4, 7}, {invert, 0.6, 8}},
          {{shear_x, 0.6, 5}, {equalize, 1.0, 9}},  {{color, 0.4, 0}, {equalize, 0.6, 3}},
          {{equalize, 0.4, 7}, {solarize, 0.2, 4}}, {{solarize, 0.6, 5}, {auto_contrast, 0.6, 5}},
          {{invert, 0.6, 4}, {equalize, 1.0, 8}},   {{color, 0.6, 4}, {contrast, 1.0, 8}},
          {{equalize, 0.8, 8}, {equalize, 0.6, 3}}};
}

// The policy of EfficientNet's training (tensorflow/tpu, autoaugment.py, "v0").
Sequences v0(Level posterize) {
  return {{{equalize, 0.8, 1}, {shear_y, 0.8, 4}},
          {{color, 0.4, 9}, {equalize, 0.6, 3}},
          {{color, 0.4, 1}, {rotate, 0.6, 8}},
          {{solarize, 0.8, 3}, {equalize, 0.4, 7}},
          {{solarize, 0.4, 2}, {solarize, 0.6, 2}},
          {{color, 0.2, 0}, {equalize, 0.8, 8}},
          {{equalize, 0.4, 8}, {solarize_add, 0.8, 3}},
          {{shear_x, 0.2, 9}, {rotate, 0.6, 8}},
          {{color, 0.6, 1}, {equalize, 1.0, 2}},
          {{invert, 0.4, 9}, {rotate, 0.6, 0}},
          {{equalize, 1.0, 9}, {shear_y, 0.6, 3}},
          {{color, 0.4, 7}, {equalize, 0.6, 0}},
          {{posterize, 0.4, 6}, {auto_contrast, 0.4, 7}},
          {{solarize, 0.6, 8}, {color, 0.6, 9}},
          {{solarize, 0.2, 4}, {rotate, 0.8, 9}},
          {{rotate, 1.0, 7}, {translate_y, 0.8, 9}},
          {{shear_x, 0.0, 0}, {solarize, 0.8, 4}},
          {{shear_y, 0.8, 0}, {color, 0.6, 4}},
          {{color, 1.0, 0}, {rotate, 0.6, 2}},
          {{equalize, 0.8, 4}, {equalize, 0.0, 8}},
          {{equalize, 1.0, 4}, {auto_contrast, 0.6, 2}},
          {{shear_y, 0.4, 7}, {solarize_add, 0.6, 7}},
          {{posterize, 0.8, 2}, {solarize, 0.6, 10}},
          {{solarize, 0.6, 8}, {equalize, 0.6, 1}},
          {{color, 0.8, 6}, {rotate, 0.4, 5}}};
}

Sequences one_each(std::initializer_list<Level> levels, double probability, double magnitude) {
  Sequences sequences;
  for (const Level level : levels) sequences.push_back({{level, probability, magnitude}});
  return sequences;
}

}  // namespace

Sequences auto_augment(const std::string& name) {
  if (name == "original") return original(posterize_original);
  if (name == "originalr") return original(posterize_increasing);
  if (name == "v0") return v0(posterize);
  if (name == "v0r") return v0(posterize_increasing);
  // Touvron and others, "DeiT III: Revenge of the ViT", 2022.
  if (name == "3a")
    return {{{solarize, 1, 5}}, {{desaturate, 1, 10}}, {{gaussian_blur_random, 1, 10}}};
  return {};
}

// Cubuk and others, "RandAugment: Practical automated data augmentation", 2019; timm's version.
Sequences rand_augment(bool increasing, double probability, double magnitude) {
  if (increasing)
    return one_each(
        {auto_contrast, equalize, invert, rotate, posterize_increasing, solarize_increasing,
         solarize_add, color_increasing, contrast_increasing, brightness_increasing,
         sharpness_increasing, shear_x, shear_y, translate_x, translate_y},
        probability, magnitude);
  return one_each(
      {auto_contrast, equalize, invert, rotate, posterize, solarize, solarize_add, color, contrast,
       brightness, sharpness, shear_x, shear_y, translate_x, translate_y},
      probability, magnitude);
}

// Hendrycks and others, "AugMix: A Simple Data Processing Method", 2020; timm's version.
Sequences augmix(double magnitude) {
  return one_each({auto_contrast, color_increasing, contrast_increasing, brightness_increasing,
                   sharpness_increasing, equalize, rotate, posterize_increasing,
                   solarize_increasing, shear_x, shear_y, translate_x, translate_y},
                  1, magnitude);
}

Sequences rand_set(const std::string& name, double probability, double magnitude,
                   std::vector<double>& weights) {
  weights.clear();
  if (name == "3a")
    return one_each({solarize_increasing, desaturate, gaussian_blur}, probability, magnitude);
  if (name == "3aw") {
    weights = {6, 6, 6, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1};
    return one_each({solarize_increasing, desaturate, gaussian_blur, rotate, shear_x, shear_y,
                     posterize_increasing, auto_contrast, color_increasing, sharpness_increasing,
                     contrast_increasing, brightness_increasing, equalize, invert},
                    probability, magnitude);
  }
  if (name == "weights") {
    weights = {3, 2, 2, 1, 1, 0.25, 0.25, 0.25, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05};
    return one_each(
        {rotate, shear_x, shear_y, translate_x, translate_y, color_increasing, sharpness_increasing,
         auto_contrast, solarize_increasing, solarize_add, contrast_increasing,
         brightness_increasing, equalize, posterize_increasing, invert},
        probability, magnitude);
  }
  return {};
}

}  // namespace shoal::data::augment::tables
