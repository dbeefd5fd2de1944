// Rows of the option table for the section Data: preprocessing of images, from decoding to
// normalization.
#include "app/options/option_row.h"
#include "app/options/table/groups.h"
#include "base/normalization.h"

namespace shoal::app {

using train::MayDiffer;

namespace {

// Row of --mean or --std. `given`: the field of Job; `used`: the field of the resolved job.
Option channel_row(const char* name, const char* help, ChannelValues (*parse)(const std::string&),
                   std::optional<ChannelValues> train::Job::*given,
                   ChannelValues Normalization::*used) {
  Option option;
  option.name = name;
  option.commands = kRun;
  option.placeholder = "X|R,G,B";
  option.help = help;
  option.set = [parse, given](Arguments& arguments, const std::string& text) {
    arguments.job.*given = parse(text);
  };
  option.get = [given](const Arguments& arguments) {
    const auto& values = arguments.job.*given;
    return values ? shoal::text_of(*values) : "";
  };
  option.resolved = [used](const train::ResolvedJob& job) {
    return shoal::text_of(job.transform.normalization.*used);
  };
  return std::move(option)
      .unset_is("as in the weights, else the model's own")
      .spells_lists(",")
      .changes_results()
      .replaced_by("channels")
      .of_evaluation();
}

Option channels_row() {
  Option option = choice<int64_t>("channels", kRun | kAverage | kBench,
                                  "Image channels: 3 (RGB) or 1 (grayscale). With 1, images are "
                                  "converted as by Pillow's convert(\"L\"), and RGB weights of the "
                                  "first convolution are summed over its input channels",
                                  {{"1", 1}, {"3", 3}}, JOB(channels))
                      .unset_is("3, or as in the weights")
                      .default_in(kBench, "3")
                      .changes_results(MayDiffer::never, kStartAnew)
                      .of_evaluation();
  option.resolved = [](const train::ResolvedJob& job) {
    return std::to_string(job.transform.channels);
  };
  return option;
}

void add_resizing(std::vector<Option>& table) {
  const std::string step = std::to_string(data::Progression::kStep);
  add(table, "Data",
      {row("size", kTrain | kBench | kCommon, "PIXELS", "Width and height of training images",
           JOB(size))
           .unset_is("the model's")
           .default_in(kBench, "the model's (`bench loader`: 224)")
           .also_called({"img-size"})
           .within(train::Job::kSmallestSide, train::Job::kLargestSide)
           .changes_results()
           .of_evaluation(),
       row("size", kModels, "PIXELS",
           "Width and height of the images for which to count multiply-adds", JOB(size))
           .unset_is("each network's evaluation crop")
           .within(train::Job::kSmallestSide, train::Job::kLargestSide),
       row("size-schedule", kTrain, "LIST",
           "Width and height of training images by epoch: comma-separated points EPOCH:PIXELS, "
           "linearly interpolated and rounded to multiples of " +
               step + "; see docs/training.md",
           JOB(size_schedule))
           .off_is("none")
           .spells_lists(",:")
           .of_training()
           .changes_results(),
       row("multi-scale", kTrain, "MIN-MAX",
           "Range of training image sizes in pixels; each step uses a random multiple of " + step +
               " in this range",
           JOB(multi_scale))
           .off_is("none")
           .spells_lists("-")
           .of_training()
           .changes_results(),
       row("val-size", kRun | kAverage | kBench, "PIXELS", "Width and height of evaluation images",
           JOB(val_size))
           .in_bench({"loader", "step"})
           .unset_is("as in the weights, else the model's")
           .default_in(kTrain, "--size, else the model's")
           .default_in(kBench, "--size, else the model's (`bench loader`: 224)")
           .within(train::Job::kSmallestSide, train::Job::kLargestSide)
           .changes_results()
           .replaced_by("size")
           .of_evaluation(),
       choice<data::Interpolation>("interpolation", kRun | kAverage | kBench,
                                   "Antialiased filter for resizing images; random: bilinear or "
                                   "bicubic, chosen for each training image (evaluation then uses "
                                   "this option's default)",
                                   {{"bilinear", data::Interpolation::bilinear},
                                    {"bicubic", data::Interpolation::bicubic},
                                    {"random", data::Interpolation::random}},
                                   JOB(interpolation))
           .in_bench({"loader"})
           .unset_is("as in the weights, else the model's")
           .default_in(kTrain, "the model's")
           .default_in(kBench, "bilinear")
           .changes_results()
           .of_evaluation(),
       choice<data::Resize>("resize", kTrain,
                            "How to resize training images: exact (bit-identical to Pillow 13) or "
                            "fast (JPEGs only; about 50 dB PSNR relative to exact)",
                            {{"exact", data::Resize::exact}, {"fast", data::Resize::fast}},
                            JOB(resize))
           .of_training()
           .changes_results(),
       choice<data::Decoder>("decoder", kTrain | kBench,
                             "Decoder for baseline JPEGs: shoal, or turbo (libjpeg-turbo, for "
                             "comparison; same pixels)",
                             {{"shoal", data::Decoder::shoal}, {"turbo", data::Decoder::turbo}},
                             JOB(decoder))
           .in_bench({"loader"}),
       choice<data::Order>(
           "order", kTrain | kBench,
           "Order of training images: random, or chunked for data larger than memory (reads runs "
           "of 16 neighboring images and shuffles within windows of 8,192)",
           {{"random", data::Order::random}, {"chunked", data::Order::chunked}}, JOB(order))
           .in_bench({"loader"})
           .of_training()
           .changes_results(MayDiffer::between_epochs, kWithinEpoch),
       row("crop-scale-min", kTrain | kBench, "FRACTION",
           "Smallest random crop, as a fraction of the image's area", JOB(crop_scale_min))
           .in_bench({"loader"})
           .within(1e-4, 1)
           .of_training()
           .changes_results(),
       row("crop-scale-max", kTrain, "FRACTION",
           "Largest random crop, as a fraction of the image's area", JOB(crop_scale_max))
           .within(1e-4, 1)
           .of_training()
           .changes_results(),
       row("crop-ratio-min", kTrain, "X", "Smallest aspect ratio (width / height) of a random crop",
           JOB(crop_ratio_min))
           .within(0.01, 100)
           .of_training()
           .changes_results(),
       row("crop-ratio-max", kTrain, "X", "Largest aspect ratio (width / height) of a random crop",
           JOB(crop_ratio_max))
           .within(0.01, 100)
           .of_training()
           .changes_results(),
       choice<data::Views>("tta", kEval | kPredict | kCommon,
                           "Average the logits of several crops of each image: none (center crop "
                           "only), flip (center and its mirror image), five (center and corners), "
                           "ten (five and their mirror images)",
                           {{"none", data::Views::none},
                            {"flip", data::Views::flip},
                            {"five", data::Views::five},
                            {"ten", data::Views::ten}},
                           JOB(views))
           .off_is("none")});
}

void add_normalization(std::vector<Option>& table) {
  add(table, "Data",
      {row("val-resize", kRun | kAverage, "PIXELS",
           "Short side to which evaluation images are resized before the center crop of --val-size",
           JOB(val_resize))
           .unset_is("as in the weights, else from --val-size and --crop-pct")
           .default_in(kTrain, "from --val-size and --crop-pct")
           .within(32, 8192)
           .changes_results()
           .replaced_by("size")
           .replaced_by("val-size")
           .replaced_by("crop-pct")
           .of_evaluation(),
       row("crop-pct", kRun | kAverage, "X",
           "Crop ratio as in timm: --val-resize = floor(--val-size / X)", JOB(crop_pct))
           .unset_is("as in the weights, else the model's")
           .default_in(kTrain, "the model's")
           .above(0.5, 1)
           .changes_results()
           .replaced_by("val-resize")
           .of_evaluation(),
       row("hflip", kTrain, "P", "Probability of flipping a training image horizontally",
           JOB(hflip))
           .within(0, 1)
           .off_is("0")
           .of_training()
           .changes_results(),
       row("vflip", kTrain, "P", "Probability of flipping a training image vertically", JOB(vflip))
           .within(0, 1)
           .off_is("0")
           .of_training()
           .changes_results(),
       channels_row(),
       channel_row("mean", "Per-channel mean, subtracted after scaling pixels to 0..1", parse_mean,
                   &train::Job::mean, &Normalization::mean),
       channel_row(
           "std", "Per-channel standard deviation; divides pixel values after --mean is subtracted",
           parse_std, &train::Job::std, &Normalization::std)});
}

}  // namespace

void add_preprocessing(std::vector<Option>& table) {
  add_resizing(table);
  add_normalization(table);
}

}  // namespace shoal::app
