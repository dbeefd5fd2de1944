// Rows of the option table: the file that `export` writes.
#include "app/options/option_groups.h"
#include "app/options/option_row.h"

namespace shoal::app {

void add_export(std::vector<Option>& table) {
  using Format = train::ExportFileOptions::Format;
  add(table, "Export",
      {choice<Format>("format", kExport | kCommon,
                      "Format of the file: onnx (network, weights, preprocessing in its metadata), "
                      "safetensors (weights and metadata) or torchvision (a state dict for "
                      "torch.load)",
                      {{"onnx", Format::onnx},
                       {"safetensors", Format::safetensors},
                       {"torchvision", Format::torchvision}},
                      FIELD(export_file.format))
           .unset_is("by the ending of --output: .onnx, .safetensors, .pth or .pt; else onnx"),
       row("output", kExport | kCommon, "FILE", "File to write; an existing one is replaced",
           FIELD(export_to))
           .unset_is("NETWORK.onnx, .safetensors or .pth in the current folder")
           .short_form('o'),
       row("ema", kExport | kAverage | kCommon, "",
           "Use the averaged weights if there are any; --no-ema: those that were trained",
           FIELD(use_ema)),
       row("dynamic-batch", kExport | kCommon, "",
           "ONNX: accept any number of images at once, instead of one",
           FIELD(export_file.dynamic_batch)),
       row("with-preprocessing", kExport | kCommon, "",
           "ONNX: accept images of any size (uint8, N x H x W x channels), and resize, crop and "
           "normalize them in the graph",
           FIELD(export_file.with_preprocessing))});
}

}  // namespace shoal::app
