// Rows of the option table for the section Small and unbalanced data.
#include "app/options/option_row.h"
#include "app/options/table/groups.h"

namespace shoal::app {

using train::MayDiffer;

namespace {

// Row of --balance. Without a value, --balance means 1.
Option balance_row() {
  Option option = row("balance", kTrain, "X",
                      "Class-balanced sampling: use each class in proportion to n^(1 - X), where n "
                      "is its number of images. 0: each image once; 1 (or no value): each class "
                      "equally often",
                      JOB(balance))
                      .also_called({"class-balanced", "weighted-sampler", "oversample"})
                      .within(0, 1)
                      .off_is("0")
                      .of_training()
                      .changes_results(MayDiffer::between_epochs, kWithinEpoch);
  option.kind = Kind::optional_value;
  option.bare = "1";
  return option;
}

}  // namespace

void add_small_data(std::vector<Option>& table) {
  add(table, "Small and unbalanced data",
      {row("fraction", kTrain, "FRACTION",
           "Train on this fraction of each class's images (at least one image), selected by a hash "
           "of each path",
           JOB(portion.fraction))
           .also_called({"train-fraction", "limit-train-batches", "subset"})
           .above(0, 1)
           .off_is("1")
           .of_training()
           .changes_results(MayDiffer::never, kStartAnew)
           .replaced_by("per-class"),
       row("per-class", kTrain, "N",
           "Train on at most N images of each class, selected by a hash of each path; 0: all",
           JOB(portion.per_class))
           .also_called({"shots", "samples-per-class"})
           .at_least(0)
           .off_is("0")
           .of_training()
           .changes_results(MayDiffer::never, kStartAnew)
           .replaced_by("fraction"),
       balance_row(),
       row("class-weights", kTrain, "balanced|FILE",
           "Class weights in the training loss: none, balanced (in inverse proportion to the "
           "number of images of each class), or read from a FILE; see docs/training.md",
           JOB(class_weighting))
           .also_called({"class-weight", "loss-weights"})
           .off_is("none")
           .of_training()
           .changes_results()});
}

}  // namespace shoal::app
