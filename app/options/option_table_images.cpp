// Rows of the table of options: which images there are and how they are augmented.
#include "app/options/option_groups.h"
#include "app/options/option_row.h"
#include "data/augment/policy.h"
#include "data/augment/settings.h"

namespace shoal::app {

using data::BadImages;
using train::MayDiffer;

namespace {

// Images that an epoch has left depend on these options.
constexpr const char* kWithinEpoch =
    "give the setting it was made with, so that each image is used once, or continue from the "
    "checkpoint of an epoch's end";

// A text that `check` parses; it throws std::invalid_argument with what the text must be.
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

// A number, or a file of names.
Option classes_row() {
  Option option =
      row("classes", kTrain | kModels, "N|FILE",
          "Outputs of the classifier; FILE: the class names, one per line, for images that come "
          "through a pipe or have numbers for labels",
          JOB(classes))
          .unset_is("as many as the data has")
          .within(1, 1 << 24)
          .changes_results(MayDiffer::never,
                           "give the setting it was made with, or start anew in another --output")
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

// A share of the training images that an augmentation changes.
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
           "Folder that holds train/ and val/, each with one folder per class or with tars or "
           "records; or train.pack, train.tar, train.rec or train-*, and the same for val",
           JOB(data)),
       row("train", kTrain | kEval | kPrepare, "PATH",
           "Training images (instead of DATA/train): class folders, a packed set, tars, WebDataset "
           "shards, TFRecords, RecordIO or a manifest; several files as a folder or a pattern "
           "({000..127}, *)",
           JOB(train_dir)),
       row("val", kTrain | kEval | kPrepare, "PATH",
           "Validation images, in the same forms (instead of DATA/val)", JOB(val_dir)),
       row("val-split", kTrain | kEval, "SHARE",
           "Share of the training images to hold out for validation, chosen by a hash of their "
           "paths; 0: none",
           JOB(val_split))
           .within(0, 0.9)
           .off_is("0")
           .changes_results(MayDiffer::never,
                            "give the setting it was made with, or start anew in another --output")
           .replaced_by("val"),
       row("val-labels", kTrain | kEval | kPack | kPrepare, "FILE",
           "File with the classes of unlabelled validation images (pack: of SOURCE): lines "
           "`NAME CLASS`, "
           "LOC_val_solution.csv, the devkit's ground truth, or the devkit itself (.tar.gz)",
           JOB(val_labels))
           .unset_is("the images have classes"),
       row("val-synsets", kTrain | kEval | kPack | kPrepare, "FILE",
           "Meaning of the devkit's numbers in --val-labels: its meta.mat, or lines `CLASS NUMBER`",
           JOB(val_synsets))
           .unset_is("--val-labels names classes itself"),
       row("tfrecord-keys", kTrain | kEval | kPredict | kPack, "LIST",
           "Names of features in TFRecords: image=KEY,label=KEY, optionally "
           "class=KEY,name=KEY,label-offset=N,raw=TYPE,shape=HxWxC",
           JOB(tfrecord_keys))
           .unset_is("ImageNet's names")
           .spells_lists(",="),
       choice<BadImages>("bad-images", kTrain,
                         "What to do with an unreadable image: replace it by the next readable "
                         "one, or stop with an error",
                         {{"replace", BadImages::replace}, {"error", BadImages::error}},
                         JOB(bad_images))
           .changes_results(),
       classes_row(),
       row("classes", kPredict, "FILE",
           "Class names, one per line in the order of the model's outputs", JOB(classes_file))
           .unset_is("the names that the weights hold, else numbers")});
}

void add_reading(std::vector<Option>& table) {
  add(table, "Data",
      {row("train-samples", kTrain, "N",
           "Images per epoch, over all processes, when they come through a pipe",
           JOB(train_samples))
           .unset_is("counted where possible")
           .at_least(1)
           .of_training()
           .changes_results()
           .replaced_by("steps-per-epoch"),
       row("steps-per-epoch", kTrain, "N",
           "Steps per epoch when images come through a pipe; elsewhere an epoch is one pass",
           JOB(epoch_steps))
           .unset_is("what the images give")
           .at_least(1)
           .of_training()
           .changes_results()
           .replaced_by("train-samples"),
       row("shuffle-buffer", kTrain, "N",
           "Size of each process's shuffle buffer, in images, for pipes and "
           "--forward-reads; 0: no shuffling",
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
           "Read tars and records front to back in pieces of 4 MiB and shuffle them in a buffer, "
           "for file systems that read ahead (SageMaker's FastFile)",
           JOB(forward_reads))
           .changes_results(),
       row("size", kTrain | kBench | kCommon, "PIXELS", "Side of training images", JOB(size))
           .unset_is("the model's")
           .also_called({"img-size"})
           .within(32, 4096)
           .changes_results()
           .of_evaluation(),
       row("size-schedule", kTrain, "LIST",
           "Side of training images by epoch: EPOCH:PIXELS,… (an epoch also as N% of --epochs), "
           "linear in between, in multiples of 32; two points at one epoch make a jump",
           JOB(size_schedule))
           .off_is("none")
           .spells_lists(",:")
           .of_training()
           .changes_results(),
       row("multi-scale", kTrain, "MIN-MAX",
           "Draw the side of each step's images from the multiples of 32 in this range",
           JOB(multi_scale))
           .off_is("none")
           .spells_lists("-")
           .of_training()
           .changes_results(),
       row("val-size", kRun | kBench, "PIXELS", "Side of evaluation images", JOB(val_size))
           .unset_is("the model's own; in training --size if given")
           .within(32, 4096)
           .changes_results()
           .replaced_by("size")
           .of_evaluation(),
       choice<data::Interpolation>("interpolation", kRun | kBench,
                                   "Filter that resizes images, antialiased; random: one of the "
                                   "two, drawn for each training image",
                                   {{"bilinear", data::Interpolation::bilinear},
                                    {"bicubic", data::Interpolation::bicubic},
                                    {"random", data::Interpolation::random}},
                                   JOB(interpolation))
           .unset_is("the model's own")
           .changes_results()
           .of_evaluation(),
       choice<data::Resize>("resize", kTrain,
                            "Resizing of training images: exact (bit-equal to Pillow 13) or fast "
                            "(JPEGs only; PSNR of about 50 dB)",
                            {{"exact", data::Resize::exact}, {"fast", data::Resize::fast}},
                            JOB(resize))
           .of_training()
           .changes_results(),
       choice<data::Decoder>(
           "decoder", kTrain | kBench,
           "Decoder of baseline JPEGs: shoal's, or libjpeg-turbo to compare (same pixels)",
           {{"shoal", data::Decoder::shoal}, {"turbo", data::Decoder::turbo}}, JOB(decoder)),
       choice<data::Order>(
           "order", kTrain | kBench,
           "Order of training images: random; or chunked: runs of 16 neighbouring images, "
           "shuffled within 8192 images, for data larger than memory",
           {{"random", data::Order::random}, {"chunked", data::Order::chunked}}, JOB(order))
           .of_training()
           .changes_results(MayDiffer::between_epochs, kWithinEpoch),
       row("crop-scale-min", kTrain | kBench, "SHARE",
           "Smallest share of an image's area that a random crop covers", JOB(crop_scale_min))
           .within(1e-4, 1)
           .of_training()
           .changes_results(),
       row("crop-scale-max", kTrain, "SHARE",
           "Largest share of an image's area that a random crop covers", JOB(crop_scale_max))
           .within(1e-4, 1)
           .of_training()
           .changes_results(),
       row("crop-ratio-min", kTrain, "X", "Smallest width / height of a random crop",
           JOB(crop_ratio_min))
           .within(0.01, 100)
           .of_training()
           .changes_results(),
       row("crop-ratio-max", kTrain, "X", "Largest width / height of a random crop",
           JOB(crop_ratio_max))
           .within(0.01, 100)
           .of_training()
           .changes_results(),
       choice<data::Views>("tta", kEval | kPredict | kCommon,
                           "Views of each image whose logits are averaged: none (centre only), "
                           "flip (and mirrored), five (centre and corners), ten (five, and "
                           "mirrored)",
                           {{"none", data::Views::none},
                            {"flip", data::Views::flip},
                            {"five", data::Views::five},
                            {"ten", data::Views::ten}},
                           JOB(views))
           .off_is("none")});
}

void add_mixing(std::vector<Option>& table, const char* group) {
  add(table, group,
      {row("mixup", kTrain, "ALPHA", "Blend pairs of images, ratio from Beta(ALPHA, ALPHA); 0: off",
           JOB(mix.mixup))
           .within(0, 100)
           .off_is("0")
           .of_training()
           .changes_results(),
       row("cutmix", kTrain, "ALPHA",
           "Paste a rectangle of another image, area from Beta(ALPHA, ALPHA); 0: off",
           JOB(mix.cutmix))
           .within(0, 100)
           .off_is("0")
           .of_training()
           .changes_results(),
       row("mixup-prob", kTrain, "P", "Probability that a draw of mixup or cutmix mixes at all",
           JOB(mix.mix))
           .within(0, 1)
           .of_training()
           .changes_results(),
       row("mixup-switch-prob", kTrain, "P", "Probability of cutmix when both are on",
           JOB(mix.switch_mix))
           .within(0, 1)
           .of_training()
           .changes_results(),
       choice<data::MixMode>(
           "mixup-mode", kTrain,
           "Draw mixup once per step (batch), per pair of images (pair) or per image (elem); half: "
           "train on one image of each pair, so that an epoch has "
           "half the steps",
           {{"batch", data::MixMode::batch},
            {"pair", data::MixMode::pair},
            {"elem", data::MixMode::elem},
            {"half", data::MixMode::half}},
           JOB(mix.mode))
           .of_training()
           .changes_results(),
       share_row("random-erase", "Share of images in which rectangles are erased", JOB(mix.erase)),
       choice<data::EraseFill>(
           "random-erase-mode", kTrain,
           "Fill of an erased rectangle: zero, which is the mean (const), one random colour (rand) "
           "or noise (pixel)",
           {{"const", data::EraseFill::constant},
            {"rand", data::EraseFill::color},
            {"pixel", data::EraseFill::noise}},
           JOB(mix.erase_fill))
           .of_training()
           .changes_results(),
       row("random-erase-count", kTrain, "N", "Most rectangles erased in an image",
           JOB(mix.erase_count))
           .within(1, data::kMostErasures)
           .of_training()
           .changes_results(),
       row("random-erase-area-min", kTrain, "SHARE", "Smallest share of the image erased in all",
           JOB(mix.erase_area_min))
           .within(1e-4, 1)
           .of_training()
           .changes_results(),
       row("random-erase-area-max", kTrain, "SHARE", "Largest share of the image erased in all",
           JOB(mix.erase_area_max))
           .within(1e-4, 1)
           .of_training()
           .changes_results(),
       row("random-erase-ratio", kTrain, "X",
           "Smallest height / width of a rectangle; the largest is its inverse",
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
                       " (timm's and torchvision's spelling)",
                   data::augment::parse_policy, JOB(augment.policy))
           .off_is("none"),
       checked_row("color-jitter", "X|B,C,S|B,C,S,H",
                   "Random brightness, contrast and saturation (factors within 1 +- B, C, S) and "
                   "hue (within +- H); X: B = C = S; 0: off",
                   data::augment::parse_jitter, JOB(augment.color_jitter))
           .off_is("0")
           .spells_lists(","),
       share_row("grayscale", "Share of images turned grey", JOB(augment.grayscale)),
       share_row("gaussian-blur", "Share of images blurred, with a deviation of 0.1 to 2 pixels",
                 JOB(augment.gaussian_blur)),
       share_row("solarize", "Share of images whose levels from 128 on are inverted",
                 JOB(augment.solarize)),
       row("strength-schedule", kTrain, "LIST",
           "Scales RandAugment, AugMix, mixup, cutmix and dropout by a factor per epoch: "
           "EPOCH:X,…",
           JOB(strength_schedule))
           .off_is("none")
           .spells_lists(",:")
           .of_training()
           .changes_results(),
       row("repeated-augmentation", kTrain, "N",
           "Use each image N times per epoch, each time augmented differently; the epoch keeps its "
           "length, with 1/N of the images",
           JOB(repeated_augmentation))
           .within(1, 64)
           .off_is("1")
           .of_training()
           .changes_results(MayDiffer::between_epochs, kWithinEpoch)});
  add_mixing(table, group);
}

}  // namespace shoal::app
