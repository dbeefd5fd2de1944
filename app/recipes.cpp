#include "app/recipes.h"

namespace shoal::app {

const std::vector<Recipe>& recipes() {
  // Learning rates are given with the global batch they are meant for (scale-lr), so a recipe fits
  // any number of GPUs.
  static const std::vector<Recipe> table = {
      {"demo",
       "EfficientNet-B0 on 10 000 pictures of 64 pixels, five minutes on two processors",
       "our own; scripts/demo trains with it",
       {{"model", "efficientnet_b0"},
        {"size", "64"},
        {"val-size", "64"},
        {"optimizer", "adamw"},
        {"lr", "0.002"},
        {"clip", "1"},
        {"schedule", "onecycle"},
        {"global-batch-size", "32"},
        {"epochs", "4"},
        {"crop-scale-min", "0.8"},
        {"drop-path", "0"},
        {"dropout", "0"}}},
      {"efficientnet_b0",
       "EfficientNet-B0, published at 77.4 % (there with AutoAugment)",
       "NVIDIA DeepLearningExamples, PyTorch/Classification/ConvNets/efficientnet",
       {{"model", "efficientnet_b0"},
        {"size", "224"},
        {"val-size", "224"},
        {"interpolation", "bicubic"},
        {"optimizer", "rmsprop"},
        {"alpha", "0.9"},
        {"eps", "0.01"},
        {"momentum", "0.9"},
        {"weight-decay", "1e-5"},
        {"lr", "0.08"},
        {"scale-lr", "4096"},
        {"schedule", "cosine"},
        {"warmup-epochs", "16"},
        {"epochs", "400"},
        {"label-smoothing", "0.1"},
        {"mixup", "0.2"},
        {"dropout", "0.2"},
        {"drop-path", "0"}}},
      {"efficientnet_b4",
       "EfficientNet-B4, published at 82.9 % (there with AutoAugment)",
       "NVIDIA DeepLearningExamples, PyTorch/Classification/ConvNets/efficientnet",
       {{"model", "efficientnet_b4"},
        {"size", "380"},
        {"val-size", "380"},
        {"interpolation", "bicubic"},
        {"optimizer", "rmsprop"},
        {"alpha", "0.9"},
        {"eps", "0.01"},
        {"momentum", "0.9"},
        {"weight-decay", "5e-6"},
        {"lr", "0.16"},
        {"scale-lr", "4096"},
        {"schedule", "cosine"},
        {"warmup-epochs", "16"},
        {"epochs", "400"},
        {"label-smoothing", "0.1"},
        {"mixup", "0.2"},
        {"dropout", "0.4"},
        {"drop-path", "0.2"}}},
      {"efficientnet_b0_tf",
       "EfficientNet-B0 with averaged weights, published at 77.6 % (there with AutoAugment)",
       "NVIDIA DeepLearningExamples, TensorFlow2/Classification/ConvNets/efficientnet_v1",
       {{"model", "efficientnet_b0"},
        {"size", "224"},
        {"val-size", "224"},
        {"optimizer", "rmsprop"},
        {"alpha", "0.9"},
        {"eps", "0.001"},
        {"momentum", "0.9"},
        {"weight-decay", "5e-6"},
        {"lr", "0.005"},
        {"scale-lr", "128"},
        {"schedule", "cosine"},
        {"warmup-epochs", "5"},
        {"epochs", "500"},
        {"label-smoothing", "0.1"},
        {"ema", "0.9999"},
        {"sync-bn", "true"},
        {"dropout", "0.2"},
        {"drop-path", "0.2"}}},
      {"resnet50",
       "ResNet-50, 76.1 % (there with weight decay on batch norm too)",
       "PyTorch examples, imagenet/main.py",
       {{"model", "resnet50"},
        {"size", "224"},
        {"val-size", "224"},
        {"optimizer", "sgd"},
        {"momentum", "0.9"},
        {"weight-decay", "1e-4"},
        {"lr", "0.1"},
        {"scale-lr", "256"},
        {"schedule", "step"},
        {"decay-epochs", "30"},
        {"decay-rate", "0.1"},
        {"epochs", "90"}}},
      {"resnet50_nvidia",
       "ResNet-50 v1.5, published at 77.1 %",
       "NVIDIA DeepLearningExamples, PyTorch/Classification/ConvNets/resnet50v1.5",
       {{"model", "resnet50"},
        {"size", "224"},
        {"val-size", "224"},
        {"optimizer", "sgd"},
        {"momentum", "0.875"},
        {"weight-decay", "3.0517578125e-5"},
        {"lr", "0.256"},
        {"scale-lr", "256"},
        {"schedule", "cosine"},
        {"warmup-epochs", "8"},
        {"epochs", "90"},
        {"label-smoothing", "0.1"}}},
      {"resnet50_v2",
       "ResNet-50, published at 80.9 % (there with TrivialAugment, erasing and repeated "
       "augmentation)",
       "torchvision references/classification, weights V2",
       {{"model", "resnet50"},
        {"size", "176"},
        {"val-size", "224"},
        {"optimizer", "sgd"},
        {"momentum", "0.9"},
        {"weight-decay", "2e-5"},
        {"lr", "0.5"},
        {"scale-lr", "1024"},
        {"schedule", "cosine"},
        {"warmup-epochs", "5"},
        {"warmup-start", "0.01"},
        {"epochs", "600"},
        {"label-smoothing", "0.1"},
        {"mixup", "0.2"},
        {"cutmix", "1"},
        {"ema", "0.9999"}}},
  };
  return table;
}

const Recipe* find_recipe(std::string_view name) {
  for (const Recipe& recipe : recipes()) {
    if (recipe.name == name) return &recipe;
  }
  return nullptr;
}

std::string recipe_list() {
  std::string text;
  for (const Recipe& recipe : recipes()) {
    text += recipe.name + ": " + recipe.summary + "\n  " + recipe.source + "\n ";
    for (const auto& [option, value] : recipe.values) text += " --" + option + " " + value;
    text += "\n";
  }
  return text;
}

}  // namespace shoal::app
