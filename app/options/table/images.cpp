// Rows of the option table for the section Data: where images come from and how they are read.
#include "app/options/option_row.h"
#include "app/options/table/groups.h"

namespace shoal::app {

using data::BadImages;
using train::MayDiffer;

namespace {

// Row of --classes, whose value is a number or a file of class names.
Option classes_row() {
  Option option = row("classes", kTrain | kModels | kBench, "N|FILE",
                      "Number of classes, or a FILE with the class names, one per line in label "
                      "order (train: needed if all images come through pipes)",
                      JOB(classes))
                      .in_bench({"step", "scaling"})
                      .unset_is("the number of classes in the data")
                      .default_in(kModels | kBench, "1000")
                      .within(1, 1 << 24)
                      .changes_results(MayDiffer::never, kStartAnew)
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

void add_splits(std::vector<Option>& table) {
  add(table, "Data",
      {row("data", kTrain | kEval | kCheck | kAverage | kCommon, "DIR",
           "Folder, tar or zip that contains train/ and val/ with class folders, archives or "
           "record files; train.pack, .tar, .rec, .zip, .csv or files named train-* may replace "
           "train/, and the same for val",
           JOB(data)),
       row("train", kTrain | kEval | kCheck | kAverage | kPrepare, "PATH",
           "Training images: class folders, a packed set, files of many images (tars, zips, "
           "WebDataset shards, TFRecords, RecordIO and others in docs/data.md), a SageMaker "
           "manifest, a CSV file that lists images and classes, or pipe:PATH; for several files, "
           "their folder or a pattern ({000..127}, *)",
           JOB(train_dir))
           .unset_is("DATA/train, on SageMaker the training channel")
           .default_in(kCheck | kAverage, "DATA/train")
           .default_in(kPrepare, "DOWNLOADS/ILSVRC2012_img_train.tar"),
       row("val", kTrain | kEval | kCheck | kAverage | kPrepare, "PATH",
           "Validation images, in any form that --train accepts", JOB(val_dir))
           .unset_is("DATA/val, on SageMaker the validation channel")
           .default_in(kCheck | kAverage, "DATA/val")
           .default_in(kPrepare, "DOWNLOADS/ILSVRC2012_img_val.tar"),
       row("val-split", kTrain | kEval | kAverage, "FRACTION",
           "Fraction of the training images to hold out for validation, selected by a hash of each "
           "path; 0: none",
           JOB(val_split))
           .default_in(kEval | kAverage,
                       "if there are no validation images, the fraction that the weights' training "
                       "run held out; else 0")
           .within(0, 0.9)
           .off_is("0")
           .changes_results(MayDiffer::never, kStartAnew)
           .replaced_by("val"),
       row("val-labels", kTrain | kEval | kCheck | kAverage | kPack | kPrepare, "FILE",
           "File with the classes of validation images (pack: images in SOURCE) that are not in "
           "class folders: a text file of lines `NAME CLASS`, LOC_val_solution.csv, ImageNet's "
           "devkit, or the devkit's ground truth file; see docs/data.md",
           JOB(val_labels))
           .unset_is("none")
           .default_in(kPrepare, "the devkit in DOWNLOADS"),
       row("val-synsets", kTrain | kEval | kCheck | kAverage | kPack | kPrepare, "FILE",
           "File that maps the class numbers in --val-labels to class names: meta.mat of "
           "ImageNet's devkit, or a text file with a class name and its number on each line",
           JOB(val_synsets))
           .unset_is("none; needed only if --val-labels is the devkit's ground truth file"),
       row("tfrecord-keys", kTrain | kEval | kCheck | kAverage | kPredict | kPack, "LIST",
           "How to read TFRecords: comma-separated list of image=KEY, label=KEY, class=KEY (class "
           "name), name=KEY (file name), label-offset=N (label of the first class); for raw "
           "tensors add raw=TYPE, shape=HxWxC or CxHxW, and optionally scale=X (multiplies the "
           "values to get 0..255; default 1); see docs/data.md",
           JOB(tfrecord_keys))
           .unset_is("the feature names of ImageNet's TFRecords")
           .spells_lists(",="),
       choice<BadImages>(
           "bad-images", kTrain,
           "What to do with an unreadable image: replace it with the next readable one (the run "
           "still fails if more than 1 % are unreadable), or stop with an error at the first",
           {{"replace", BadImages::replace}, {"error", BadImages::error}}, JOB(bad_images))
           .changes_results(),
       classes_row(),
       row("classes", kEval | kPredict | kExport, "FILE|imagenet",
           "File with the class names, one per line in the order of the model's outputs, or "
           "`imagenet` for the names of ImageNet's 1000 classes (eval: its folder names, "
           "n01440764, …)",
           JOB(classes_file))
           .unset_is("the names stored with the weights, else those of the images' classes")
           .default_in(kPredict,
                       "the names stored with the weights, else ImageNet's for weights listed by "
                       "`shoal weights`, else numbers")
           .default_in(kExport,
                       "the names stored with the weights, else ImageNet's for weights listed by "
                       "`shoal weights`, else none")});
}

void add_reading(std::vector<Option>& table) {
  add(table, "Data",
      {row("train-samples", kTrain, "N",
           "Images per epoch, over all processes, if training images come through a pipe; ignored "
           "for other data",
           JOB(train_samples))
           .unset_is("none; a pipe needs this, --steps-per-epoch or --max-steps")
           .at_least(1)
           .of_training()
           .changes_results()
           .replaced_by("steps-per-epoch"),
       row("steps-per-epoch", kTrain, "N",
           "Steps per epoch if training images come through a pipe; ignored for other data, where "
           "an epoch is one pass",
           JOB(epoch_steps))
           .unset_is("from --train-samples; with --max-steps alone, an epoch ends when a pipe ends")
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
           .changes_results(MayDiffer::between_epochs, kWithinEpoch),
       text_choice("sharded", kTrain | kEval,
                   "Splits that are already sharded per host (SageMaker's ShardedByS3Key)",
                   {"none", "train", "val", "both"}, JOB(sharded))
           .off_is("none")
           .changes_results(MayDiffer::between_epochs, kWithinEpoch),
       row("forward-reads", kTrain | kEval, "",
           "Read tars, zips and records sequentially in blocks of 4 MiB and shuffle training "
           "images in a buffer; faster on file systems that read ahead; SageMaker's FastFile mode "
           "turns this on",
           JOB(forward_reads))
           .changes_results(MayDiffer::between_epochs, kWithinEpoch)});
}

}  // namespace

void add_data(std::vector<Option>& table) {
  add_splits(table);
  add_reading(table);
}

}  // namespace shoal::app
