// Rows of the option table for the sections Results (of `eval` and `predict`) and Export.
#include "app/options/option_row.h"
#include "app/options/table/groups.h"

namespace shoal::app {

void add_results(std::vector<Option>& table) {
  add(table, "Results",
      {row("output", kEval | kCommon, "DIR",
           "Folder for evaluation.json: confusion matrix, calibration, metrics of each class, "
           "images with the highest losses",
           FIELD(eval.output))
           .short_form('o')
           .unset_is("none"),
       row("output", kPredict | kCommon, "FILE",
           "File for the predictions; .csv, .json and .jsonl select the format",
           FIELD(predict_output))
           .short_form('o')
           .unset_is("standard output"),
       row("predictions", kEval | kCommon, "FILE",
           "File for the label, the loss and the five most likely classes of each image: NAME.csv, "
           "or NAME.jsonl for JSON lines",
           FIELD(eval.predictions))
           .unset_is("none"),
       row("logits", kPredict | kEval, "",
           "eval: write all logits to --predictions; predict: also print the logit of each class",
           FIELD(logits)),
       row("details", kEval | kCommon, "",
           "Print precision, recall and F1 of each class, the most frequent confusions, and the "
           "calibration",
           FIELD(eval.details)),
       row("suspects", kEval | kCommon, "N",
           "Print N images whose labels may be wrong: those misclassified with the highest loss "
           "(with several checkpoints, the highest mean loss)",
           FIELD(eval.suspects))
           .at_least(0),
       row("real-labels", kEval, "FILE",
           "File with several correct labels per image, such as ImageNet-ReaL's real.json; also "
           "prints the accuracy with these labels",
           FIELD(eval.real_labels))
           .unset_is("none"),
       row("subset", kEval, "all|data|FILE",
           "Classes that the model may predict: all, data (only the classes of the images, as for "
           "ImageNet-A and -R), or those in FILE (class names, one per line)",
           FIELD(eval.subset)),
       row("csv", kPredict | kCommon, "", "Print the result as comma-separated values", FIELD(csv)),
       row("topk", kPredict | kCommon, "N",
           "Number of classes to print for each image, most likely first", FIELD(topk))
           .at_least(1),
       row("strict", kPredict | kCommon, "",
           "Exit with code 1, after all predictions, if any image could not be read (without this "
           "option: if no image could be read)",
           FIELD(strict))});
}

void add_export(std::vector<Option>& table) {
  using Format = train::ExportFileOptions::Format;
  add(table, "Export",
      {choice<Format>(
           "format", kExport | kCommon,
           "File format: onnx (network and weights; preprocessing as metadata), safetensors "
           "(weights and metadata) or torchvision (a state dict for torch.load)",
           {{"onnx", Format::onnx},
            {"safetensors", Format::safetensors},
            {"torchvision", Format::torchvision}},
           FIELD(export_file.format))
           .unset_is(
               "from the extension of --output (.onnx, .safetensors, .pth, .pt); without one: "
               "onnx"),
       row("output", kExport | kCommon, "FILE", "File to write; replaces an existing one",
           FIELD(export_to))
           .unset_is("NETWORK.onnx, .safetensors or .pth in the current folder")
           .short_form('o'),
       row("ema", kEval | kPredict | kExport | kAverage | kCommon, "",
           "Use the EMA weights if the checkpoint has any; --no-ema: the non-averaged weights",
           FIELD(use_ema)),
       row("dynamic-batch", kExport | kCommon, "",
           "ONNX: accept batches of any size instead of a single image",
           FIELD(export_file.dynamic_batch)),
       row("with-preprocessing", kExport | kCommon, "",
           "ONNX: accept images of any size (uint8, N x H x W x channels), and resize, crop and "
           "normalize them in the graph",
           FIELD(export_file.with_preprocessing))});
}

}  // namespace shoal::app
