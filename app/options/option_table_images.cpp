// Rows of the option table: input images, preprocessing and augmentation.
#include "app/options/option_groups.h"
#include "app/options/option_row.h"
#include "data/augment/policy.h"
#include "data/augment/settings.h"

namespace shoal::app {

using data::BadImages;
using train::MayDiffer;

namespace {

// Advice for options that decide which images the rest of an epoch uses.
constexpr const char* kWithinEpoch =
    "use the checkpoint's setting, so that the epoch uses each image once, or resume from a "
    "checkpoint at the end of an epoch";

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

// Row of --classes, whose value is a number or a file of class names.
Option classes_row() {
  Option option =
      row("classes", kTrain | kModels, "N|FILE",
          "Number of classes, or a FILE with the class names, one per line in label order; needed "
          "for images from a pipe or with numeric labels",
          JOB(classes))
          .unset_is("the number of classes in the data")
          .within(1, 1 << 24)
          .changes_results(MayDiffer::never,
                           "use the checkpoint's setting, or start a new run in another --output")
          .of_evaluation();
  option.set = [](Arguments& arguments, const std::string& text) {
    try {
      store(arguments.job.classes, text);
    } catch (const std::invalid_argument&) {
      store(arguments.job.classes_file, text);
    }
  };
  option.get = [](const Arguments& arguments) {
    return arguments.job.classes_file.empty() ? text_of(arguments.job.classes)
                                              : arguments.job.classes_file;
  };
  option.resolved = [](const train::ResolvedJob& job) { return text_of(job.model.classes); };
  return option;
}

// Row for the probability that an augmentation changes an image.
template <class Field>
Option share_row(const char* name, const char* help, Field field) {
  return row(name, kTrain, "P", help, field)
      .within(0, 1)
      .off_is("0")
      .of_training()
      .changes_results();
}

void add_splits(std::vector<Option>& table) {
  add(table, "Data",
      {row("data", kTrain | kEval | kCommon, "DIR",
           "Folder with train/ and val/, each with one folder per class, tars or records; train/ "
           "may "
           "also be train.pack, train.tar, train.rec or files train-* (val/ likewise)",
           JOB(data)),
       row("train", kTrain | kEval | kPrepare, "PATH",
           "Training images (instead of DATA/train): class folders, a packed set, tars, WebDataset "
           "shards, TFRecords, RecordIO or a manifest; to name several files, give a folder or a "
           "pattern ({000..127}, *)",
           JOB(train_dir)),
       row("val", kTrain | kEval | kPrepare, "PATH",
           "Validation images (instead of DATA/val), in any form that --train accepts",
           JOB(val_dir)),
       row("val-split", kTrain | kEval, "SHARE",
           "Share of the training images to hold out for validation, selected by a hash of each "
           "path; 0: none",
           JOB(val_split))
           .within(0, 0.9)
           .off_is("0")
           .changes_results(MayDiffer::never,
                            "use the checkpoint's setting, or start a new run in another --output")
           .replaced_by("val"),
       row("val-labels", kTrain | kEval | kPack | kPrepare, "FILE",
           "File with the classes of unlabelled validation images (pack: of the images in SOURCE): "
           "lines `NAME CLASS`, Kaggle's LOC_val_solution.csv, the ground truth file of ImageNet's "
           "devkit, or the devkit itself (.tar.gz)",
           JOB(val_labels))
           .unset_is("the class comes with each image"),
       row("val-synsets", kTrain | kEval | kPack | kPrepare, "FILE",
           "File that maps the class numbers in --val-labels to class names: meta.mat of "
           "ImageNet's devkit, or lines `CLASS NUMBER`",
           JOB(val_synsets))
           .unset_is("--val-labels contains the names"),
       row("tfrecord-keys", kTrain | kEval | kPredict | kPack, "LIST",
           "Feature names in TFRecords: image=KEY,label=KEY and optionally "
           "class=KEY,name=KEY,label-offset=N,raw=TYPE,shape=HxWxC",
           JOB(tfrecord_keys))
           .unset_is("the feature names of ImageNet's TFRecords")
           .spells_lists(",="),
       choice<BadImages>("bad-images", kTrain,
                         "What to do with an unreadable image: replace it with the next readable "
                         "one (the run still fails if more than 1 % are unreadable), or stop with "
                         "an error at the first",
                         {{"replace", BadImages::replace}, {"error", BadImages::error}},
                         JOB(bad_images))
           .changes_results(),
       classes_row(),
       row("classes", kPredict, "FILE",
           "File with the class names, one per line in the order of the model's outputs",
           JOB(classes_file))
           .unset_is("the class names stored with the weights, else numbers")});
}

void add_reading(std::vector<Option>& table) {
  add(table, "Data",
      {row("train-samples", kTrain, "N",
           "Images per epoch, over all processes, if training images come through a pipe",
           JOB(train_samples))
           .unset_is("counted where possible")
           .at_least(1)
           .of_training()
           .changes_results()
           .replaced_by("steps-per-epoch"),
       row("steps-per-epoch", kTrain, "N",
           "Steps per epoch if training images come through a pipe (other data: one pass per "
           "epoch)",
           JOB(epoch_steps))
           .unset_is("until the images end")
           .at_least(1)
           .of_training()
           .changes_results()
           .replaced_by("train-samples"),
       row("shuffle-buffer", kTrain, "N",
           "Images in each process's shuffle buffer, used with pipes and --forward-reads; 0: no "
           "shuffling",
           JOB(shuffle_buffer))
           .within(0, 1 << 24)
           .off_is("0")
           .of_training()
           .changes_results(),
       text_choice("sharded", kTrain | kEval,
                   "Splits that are already sharded per host (SageMaker's ShardedByS3Key)",
                   {"none", "train", "val", "both"}, JOB(sharded))
           .off_is("none")
           .changes_results(),
       row("forward-reads", kTrain | kEval, "",
           "Read tars and records sequentially in blocks of 4 MiB and shuffle the images in a "
           "buffer; faster on file systems that read ahead, such as SageMaker FastFile",
           JOB(forward_reads))
           .changes_results(),
       row("size", kTrain | kBench | kCommon, "PIXELS", "Size of training images", JOB(size))
           .unset_is("the model's")
           .also_called({"img-size"})
           .within(32, 4096)
           .changes_results()
           .of_evaluation(),
       row("size-schedule", kTrain, "LIST",
           "Width and height of training images by epoch, as points EPOCH:PIXELS,… (EPOCH may be "
           "N% of --epochs); linear between points, rounded to multiples of 32; two points at one "
           "epoch make a jump",
           JOB(size_schedule))
           .off_is("none")
           .spells_lists(",:")
           .of_training()
           .changes_results(),
       row("multi-scale", kTrain, "MIN-MAX",
           "Draw a random image size for each step from the multiples of 32 in this range of "
           "pixels",
           JOB(multi_scale))
           .off_is("none")
           .spells_lists("-")
           .of_training()
           .changes_results(),
       row("val-size", kRun | kBench, "PIXELS", "Width and height of evaluation images",
           JOB(val_size))
           .unset_is("the model's own; --size if it is given (only train)")
           .within(32, 4096)
           .changes_results()
           .replaced_by("size")
           .of_evaluation(),
       choice<data::Interpolation>("interpolation", kRun | kBench,
                                   "Antialiased filter for resizing images; random: bilinear or "
                                   "bicubic, drawn for each training image",
                                   {{"bilinear", data::Interpolation::bilinear},
                                    {"bicubic", data::Interpolation::bicubic},
                                    {"random", data::Interpolation::random}},
                                   JOB(interpolation))
           .unset_is("the model's own")
           .changes_results()
           .of_evaluation(),
       choice<data::Resize>("resize", kTrain,
                            "How to resize training images: exact (bit-identical to Pillow 13) or "
                            "fast (JPEGs only; PSNR against exact about 50 dB)",
                            {{"exact", data::Resize::exact}, {"fast", data::Resize::fast}},
                            JOB(resize))
           .of_training()
           .changes_results(),
       choice<data::Decoder>(
           "decoder", kTrain | kBench,
           "Decoder for baseline JPEGs: shoal, or libjpeg-turbo for comparison (same pixels)",
           {{"shoal", data::Decoder::shoal}, {"turbo", data::Decoder::turbo}}, JOB(decoder)),
       choice<data::Order>(
           "order", kTrain | kBench,
           "Order of training images: random, or chunked for data larger than memory (reads runs "
           "of 16 neighbouring images and shuffles within windows of 8,192)",
           {{"random", data::Order::random}, {"chunked", data::Order::chunked}}, JOB(order))
           .of_training()
           .changes_results(MayDiffer::between_epochs, kWithinEpoch),
       row("crop-scale-min", kTrain | kBench, "SHARE",
           "Smallest random crop, as a share of the image's area", JOB(crop_scale_min))
           .within(1e-4, 1)
           .of_training()
           .changes_results(),
       row("crop-scale-max", kTrain, "SHARE", "Largest random crop, as a share of the image's area",
           JOB(crop_scale_max))
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
                           "Average the logits of several crops of each image: none (centre crop "
                           "only), flip (centre and its mirror image), five (centre and corners), "
                           "ten (five and their mirror images)",
                           {{"none", data::Views::none},
                            {"flip", data::Views::flip},
                            {"five", data::Views::five},
                            {"ten", data::Views::ten}},
                           JOB(views))
           .off_is("none")});
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
           "CutMix: paste a rectangle of another image, its area from Beta(ALPHA, ALPHA); 0: off",
           JOB(mix.cutmix))
           .within(0, 100)
           .off_is("0")
           .of_training()
           .changes_results(),
       row("mixup-prob", kTrain, "P", "Probability of applying mixup or cutmix", JOB(mix.mix))
           .within(0, 1)
           .of_training()
           .changes_results(),
       row("mixup-switch-prob", kTrain, "P",
           "Probability of cutmix instead of mixup when both are on", JOB(mix.switch_mix))
           .within(0, 1)
           .of_training()
           .changes_results(),
       choice<data::MixMode>("mixup-mode", kTrain,
                             "Draw mixup and cutmix once per step (batch), per pair of images "
                             "(pair) or per image (elem); half: as pair, but train on only one of "
                             "the two mixed images, which halves the steps per epoch",
                             {{"batch", data::MixMode::batch},
                              {"pair", data::MixMode::pair},
                              {"elem", data::MixMode::elem},
                              {"half", data::MixMode::half}},
                             JOB(mix.mode))
           .of_training()
           .changes_results(),
       share_row("random-erase", "Probability of erasing rectangles in an image", JOB(mix.erase)),
       choice<data::EraseFill>("random-erase-mode", kTrain,
                               "Fill of an erased rectangle: the mean colour (const), one random "
                               "colour (rand) or noise (pixel)",
                               {{"const", data::EraseFill::constant},
                                {"rand", data::EraseFill::color},
                                {"pixel", data::EraseFill::noise}},
                               JOB(mix.erase_fill))
           .of_training()
           .changes_results(),
       row("random-erase-count", kTrain, "N", "Maximum number of rectangles erased per image",
           JOB(mix.erase_count))
           .within(1, data::kMostErasures)
           .of_training()
           .changes_results(),
       row("random-erase-area-min", kTrain, "SHARE",
           "Smallest total erased area, as a share of the image", JOB(mix.erase_area_min))
           .within(1e-4, 1)
           .of_training()
           .changes_results(),
       row("random-erase-area-max", kTrain, "SHARE",
           "Largest total erased area, as a share of the image", JOB(mix.erase_area_max))
           .within(1e-4, 1)
           .of_training()
           .changes_results(),
       row("random-erase-ratio", kTrain, "X",
           "Smallest height / width of an erased rectangle; the largest is 1/X",
           JOB(mix.erase_ratio))
           .within(0.01, 1)
           .of_training()
           .changes_results()});
}

}  // namespace

void add_data(std::vector<Option>& table) {
  add_splits(table);
  add_reading(table);
}

void add_augmentation(std::vector<Option>& table) {
  const char* const group = "Augmentation of training images, after crop and flip";
  add(table, group,
      {checked_row("auto-augment", "POLICY",
                   "Augmentation policy: " + data::augment::policy_names() +
                       " (names as in timm and torchvision)",
                   data::augment::parse_policy, JOB(augment.policy))
           .off_is("none"),
       checked_row("color-jitter", "X|B,C,S|B,C,S,H",
                   "Random brightness, contrast and saturation (factors within 1 +- B, C, S) and "
                   "hue (shift within +- H); a single X sets B = C = S; 0: off",
                   data::augment::parse_jitter, JOB(augment.color_jitter))
           .off_is("0")
           .spells_lists(","),
       share_row("grayscale", "Probability of converting an image to greyscale",
                 JOB(augment.grayscale)),
       share_row("gaussian-blur",
                 "Probability of blurring an image (Gaussian, sigma from 0.1 to 2 pixels)",
                 JOB(augment.gaussian_blur)),
       share_row("solarize",
                 "Probability of solarizing an image: inverting pixel values from 128 to 255",
                 JOB(augment.solarize)),
       row("strength-schedule", kTrain, "LIST",
           "Multiply the strength of RandAugment, AugMix, mixup, cutmix and dropout by a factor X "
           "that varies with the epoch: points EPOCH:X,…, linear in between",
           JOB(strength_schedule))
           .off_is("none")
           .spells_lists(",:")
           .of_training()
           .changes_results(),
       row("repeated-augmentation", kTrain, "N",
           "Use each image N times per epoch, each time augmented differently; the epoch keeps its "
           "length, so it uses 1/N of the images",
           JOB(repeated_augmentation))
           .within(1, 64)
           .off_is("1")
           .of_training()
           .changes_results(MayDiffer::between_epochs, kWithinEpoch)});
  add_mixing(table, group);
}

}  // namespace shoal::app
