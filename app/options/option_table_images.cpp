// The rows of the table of options that say which images there are and how they are made.
#include "app/options/option_groups.h"
#include "app/options/option_row.h"
#include "data/augment/policy.h"
#include "data/augment/settings.h"

namespace shoal::app {

using data::BadImages;

namespace {

// A text that is checked when it is read.
template <class Field, class Check>
Option checked_row(const char* name, const char* placeholder, const std::string& help, Check check,
                   Field field) {
  Option option = row(name, kTrain, placeholder, help, field);
  option.set = [field, check](Arguments& arguments, const std::string& text) {
    check(text);
    field(arguments) = text;
  };
  return option;
}

// A number, or a file of names.
Option classes_row() {
  Option option = unset_means(
      "as many as the data has",
      row("classes", kTrain | kModels, "N|FILE",
          "outputs of the classifier; FILE: the classes' names, one in each line, where "
          "images come through a pipe or have numbers for labels",
          FIELD(job.classes)));
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
  return option;
}

}  // namespace

void add_data(std::vector<Option>& table) {
  add(table, "Data",
      {row("data", kTrain | kEval | kCommon, "DIR",
           "folder that holds train/ and val/, each with one folder per class or with tars or "
           "records; or train.pack, train.tar, train.rec, train-*, and val… likewise",
           FIELD(job.data)),
       row("train", kTrain | kEval | kPrepare, "PATH",
           "training images: a folder with one per class, a packed set, tars, WebDataset "
           "shards, TFRecords, RecordIO, a manifest; several files as a folder or a pattern "
           "({000..127}, *) (instead of DATA/train)",
           FIELD(job.train_dir)),
       row("val", kTrain | kEval | kPrepare, "PATH",
           "validation images, likewise (instead of DATA/val)", FIELD(job.val_dir)),
       row("val-split", kTrain | kEval, "SHARE",
           "share of the training images that is held out for validation where there are no "
           "validation images, chosen by a hash of their paths, from 0 to 0.9; 0: none",
           FIELD(job.val_split))
           .off_is("0"),
       unset_means(
           "the images have classes",
           row("val-labels", kTrain | kEval | kPack | kPrepare, "FILE",
               "classes of validation images that carry none (of pack: of SOURCE's): "
               "lines `NAME CLASS`, LOC_val_solution.csv, the devkit's ground truth, or the "
               "devkit itself (.tar.gz)",
               FIELD(job.val_labels))),
       unset_means("--val-labels names classes itself",
                   row("val-synsets", kTrain | kEval | kPack | kPrepare, "FILE",
                       "what the devkit's numbers in --val-labels mean: its meta.mat, or lines "
                       "`CLASS NUMBER`",
                       FIELD(job.val_synsets))),
       unset_means("ImageNet's names",
                   row("tfrecord-keys", kTrain | kEval | kPredict | kPack, "LIST",
                       "names of features in TFRecords: image=KEY,label=KEY, and if need be "
                       "class=KEY,name=KEY,label-offset=N,raw=TYPE,shape=HxWxC",
                       FIELD(job.tfrecord_keys))
                       .spells_lists(",=")),
       choice<BadImages>("bad-images", kTrain,
                         "a damaged image is replaced by the next good one, or ends the run",
                         {{"replace", BadImages::replace}, {"error", BadImages::error}},
                         FIELD(job.bad_images)),
       classes_row(),
       unset_means("the names that the weights hold, else numbers",
                   row("classes", kPredict, "FILE",
                       "names of the classes, one per line in the order of the model's outputs",
                       FIELD(job.classes_file))),
       unset_means("counted where that is possible",
                   row("train-samples", kTrain, "N",
                       "images of an epoch over all processes, where they come through a pipe",
                       FIELD(job.train_samples))),
       unset_means("what the images give",
                   row("steps-per-epoch", kTrain, "N",
                       "updates of an epoch, where images come through a pipe; of no effect "
                       "elsewhere: an epoch is one pass",
                       FIELD(job.steps_per_epoch))),
       row("shuffle-buffer", kTrain, "N",
           "images of a pipe, or with --forward-reads, that each process holds (encoded) to mix "
           "their order; 0: as they come",
           FIELD(job.shuffle_buffer))
           .off_is("0"),
       text_choice(
           "sharded", kTrain | kEval,
           "of which images each host holds a share of its own (SageMaker's ShardedByS3Key)",
           {"none", "train", "val", "both"}, FIELD(job.sharded))
           .off_is("none"),
       row("forward-reads", kTrain | kEval, "",
           "tars and records are read from front to back in pieces of 4 MiB instead of at places; "
           "in training a shuffle buffer mixes them; for file systems that fetch ahead "
           "(SageMaker's FastFile)",
           FIELD(job.forward_reads)),
       unset_means("the model's own", row("size", kTrain | kBench | kCommon, "PIXELS",
                                          "side of the training images", FIELD(job.size))),
       row("size-schedule", kTrain, "LIST",
           "that side by epoch: EPOCH:PIXELS,… (epochs also as N% of --epochs), linear in between, "
           "in multiples of 32; two points at one epoch make a jump",
           FIELD(job.size_schedule))
           .off_is("none")
           .spells_lists(",:"),
       row("multi-scale", kTrain, "MIN-MAX",
           "each update's images have a side drawn from the multiples of 32 between",
           FIELD(job.multi_scale))
           .off_is("none")
           .spells_lists("-"),
       unset_means("the model's own; in training also --size when that is given",
                   row("val-size", kRun | kBench, "PIXELS", "side of the evaluation images",
                       FIELD(job.val_size))),
       unset_means("the model's own",
                   text_choice("interpolation", kRun | kBench,
                               "how images are resized, always antialiased; random: either, for "
                               "each training image "
                               "(evaluation: the model's own)",
                               {"bilinear", "bicubic", "random"}, FIELD(job.interpolation))),
       choice<data::Resize>(
           "resize", kTrain,
           "exact: training images as Pillow 13 makes them, bit for bit; fast: JPEGs "
           "within about 50 dB of that",
           {{"exact", data::Resize::exact}, {"fast", data::Resize::fast}}, FIELD(job.resize)),
       choice<data::Decoder>(
           "decoder", kTrain | kBench,
           "of baseline JPEGs: our own, or libjpeg-turbo for comparison (same pixels)",
           {{"shoal", data::Decoder::shoal}, {"turbo", data::Decoder::turbo}}, FIELD(job.decoder)),
       choice<data::Order>(
           "order", kTrain | kBench,
           "random: any image may follow any other; chunked: random among 8192 images in runs "
           "of 16 neighbours, for data that is larger than the memory",
           {{"random", data::Order::random}, {"chunked", data::Order::chunked}}, FIELD(job.order)),
       row("crop-scale-min", kTrain | kBench, "SHARE",
           "smallest share of an image's area that a random crop covers, up to 1",
           FIELD(job.crop_scale_min)),
       row("crop-scale-max", kTrain, "SHARE", "largest share, up to 1", FIELD(job.crop_scale_max)),
       row("crop-ratio-min", kTrain, "X", "smallest width / height of a random crop",
           FIELD(job.crop_ratio_min)),
       row("crop-ratio-max", kTrain, "X", "largest width / height of a random crop",
           FIELD(job.crop_ratio_max)),
       choice<data::Views>("tta", kEval | kPredict | kCommon,
                           "views of each image whose logits are averaged: the centre; it and "
                           "its mirror image; it "
                           "and the corners; those and their mirror images",
                           {{"none", data::Views::none},
                            {"flip", data::Views::flip},
                            {"five", data::Views::five},
                            {"ten", data::Views::ten}},
                           FIELD(job.views))
           .off_is("none")});
}

void add_augmentation(std::vector<Option>& table) {
  add(table, "Augmentation of training images, after crop and flip",
      {checked_row("auto-augment", "POLICY",
                   "operations that an image goes through: " + data::augment::policy_names() +
                       " (timm's and torchvision's spelling)",
                   data::augment::parse_policy, FIELD(job.augment.policy))
           .off_is("none"),
       checked_row("color-jitter", "X|B,C,S|B,C,S,H",
                   "how far brightness, contrast and saturation go from 1, and the hue from 0; one "
                   "number: the first three; 0: off",
                   data::augment::parse_jitter, FIELD(job.augment.color_jitter))
           .off_is("0")
           .spells_lists(","),
       row("grayscale", kTrain, "P", "share of images made grey", FIELD(job.augment.grayscale))
           .off_is("0"),
       row("gaussian-blur", kTrain, "P",
           "share of images blurred, by a deviation of 0.1 to 2 pixels",
           FIELD(job.augment.gaussian_blur))
           .off_is("0"),
       row("solarize", kTrain, "P", "share of images whose levels from 128 on are inverted",
           FIELD(job.augment.solarize))
           .off_is("0"),
       row("strength-schedule", kTrain, "LIST",
           "factor by epoch, EPOCH:X,…, of the magnitude of RandAugment and AugMix, of mixup and "
           "cutmix, and of dropout",
           FIELD(job.strength_schedule))
           .off_is("none")
           .spells_lists(",:"),
       row("repeated-augmentation", kTrain, "N",
           "each image of an epoch N times, augmented differently; the epoch keeps its length "
           "and "
           "holds N times fewer images",
           FIELD(job.repeated_augmentation))
           .off_is("1"),
       row("mixup", kTrain, "ALPHA", "blend pairs of images, ratio from Beta(ALPHA, ALPHA); 0: off",
           FIELD(job.mix.mixup))
           .off_is("0"),
       row("cutmix", kTrain, "ALPHA",
           "paste a rectangle of another image, area from Beta(ALPHA, ALPHA); 0: off",
           FIELD(job.mix.cutmix))
           .off_is("0"),
       row("mixup-prob", kTrain, "P", "share of draws of mixup and cutmix that mix at all",
           FIELD(job.mix.mix)),
       row("mixup-switch-prob", kTrain, "P", "share of cutmix where both are on",
           FIELD(job.mix.switch_mix)),
       choice<data::MixMode>(
           "mixup-mode", kTrain,
           "what shares a draw: the images of an update, both of a pair, or each image has its "
           "own; half: of a pair only one is trained on, so that an epoch is half as long",
           {{"batch", data::MixMode::batch},
            {"pair", data::MixMode::pair},
            {"elem", data::MixMode::elem},
            {"half", data::MixMode::half}},
           FIELD(job.mix.mode)),
       row("random-erase", kTrain, "P", "share of images of which rectangles are erased",
           FIELD(job.mix.erase))
           .off_is("0"),
       choice<data::EraseFill>("random-erase-mode", kTrain,
                               "to zero (the mean), to a random colour, or to noise",
                               {{"const", data::EraseFill::constant},
                                {"rand", data::EraseFill::color},
                                {"pixel", data::EraseFill::noise}},
                               FIELD(job.mix.erase_fill)),
       row("random-erase-count", kTrain, "N", "most rectangles of an image, up to 4",
           FIELD(job.mix.erase_count)),
       row("random-erase-area-min", kTrain, "SHARE", "smallest share of the image, all together",
           FIELD(job.mix.erase_area_min)),
       row("random-erase-area-max", kTrain, "SHARE", "largest share",
           FIELD(job.mix.erase_area_max)),
       row("random-erase-ratio", kTrain, "X",
           "smallest height / width of a rectangle; the largest is its inverse",
           FIELD(job.mix.erase_ratio))});
}

}  // namespace shoal::app
