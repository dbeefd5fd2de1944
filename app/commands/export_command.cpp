// shoal export: writes trained weights as one file for other programs.
#include <algorithm>
#include <filesystem>

#include "app/commands/commands.h"
#include "app/commands/inputs/output_file.h"
#include "app/commands/inputs/weights.h"
#include "app/commands/printable_row.h"
#include "app/commands/session.h"
#include "app/options/settings/implied_settings.h"
#include "app/platform/signals.h"
#include "base/file/writable.h"
#include "base/format/counted.h"
#include "base/format/grouped.h"
#include "base/log.h"
#include "base/text.h"
#include "train/checkpoint/export.h"
#include "train/step/trainer.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;
using Format = train::ExportFileOptions::Format;

struct FormatRow {
  Format format;
  std::vector<std::string> endings;  // the first one is used for a default file name
};

const std::vector<FormatRow>& formats() {
  static const std::vector<FormatRow> rows = {{Format::onnx, {".onnx"}},
                                              {Format::safetensors, {".safetensors"}},
                                              {Format::torchvision, {".pth", ".pt"}}};
  return rows;
}

// Returns the format that --format or the ending of --output selects, or ONNX if there is neither.
// Throws UserError if the two contradict each other, if --format is not given and the ending is
// unknown, and for `--output -`.
Format format_of(const Arguments& arguments) {
  if (arguments.export_to == "-")
    throw UserError("--output -: export cannot write to stdout; give a file name");
  const std::optional<Format> given = arguments.export_file.format;
  const std::string ending = fs::path(arguments.export_to).extension();
  for (const FormatRow& row : formats()) {
    if (std::find(row.endings.begin(), row.endings.end(), ending) == row.endings.end()) continue;
    if (given && *given != row.format)
      throw UserError("--output " + arguments.export_to + ": the ending " + ending +
                      " contradicts --format; remove --format or change the ending");
    return row.format;
  }
  if (!given && !ending.empty())
    throw UserError("--output " + arguments.export_to + ": the ending " + ending +
                    " names no format; use .onnx, .safetensors or .pth, or add --format");
  return given.value_or(Format::onnx);
}

// Moves the positional WEIGHTS to --weights, and sets the format.
void resolve_arguments(Arguments& arguments) {
  std::string& weights = arguments.job.weights;
  std::vector<std::string>& paths = arguments.paths;
  if (paths.size() + (weights.empty() ? 0 : 1) != 1)
    throw UserError(
        "export needs one set of WEIGHTS: a run, a file of weights, or a name that `shoal weights` "
        "lists");
  if (weights.empty()) {
    weights = paths.front();
    imply_settings(arguments);
  }
  train::ExportFileOptions& options = arguments.export_file;
  options.format = format_of(arguments);
  for (const auto& [given, name] : {std::pair(options.dynamic_batch, "--dynamic-batch"),
                                    std::pair(options.with_preprocessing, "--with-preprocessing")})
    if (given && options.format != Format::onnx)
      throw UserError(std::string(name) + " is only for --format onnx; remove it");
}

// Throws UserError if the format is torchvision's and torchvision does not have the network.
// Call after resolve_arguments().
void require_torchvision(const Arguments& arguments, const models::ModelInfo& info) {
  if (arguments.export_file.format != Format::torchvision || !info.torchvision.empty()) return;
  const std::string& output = arguments.export_to;
  throw UserError((output.empty() ? "--format torchvision" : "--output " + output) +
                  ": torchvision does not have the network " + info.name +
                  "; export to .onnx or .safetensors instead");
}

// Logs how torchvision loads the file, and what the file does not contain.
void print_torchvision(const Weights& weights, const train::CheckpointData& data) {
  const models::ModelInfo& info = weights.model->info();
  std::string call = "torchvision.models." + info.torchvision +
                     "(num_classes=" + std::to_string(weights.job.model.classes);
  if (info.torchvision_width != 1) call += ", width_mult=" + number(info.torchvision_width);
  log::info("to load it in Python: model = " + call + "); model.load_state_dict(torch.load(FILE))");
  if (info.channels != 3)
    log::warning(
        strf("torchvision's network takes RGB images: before load_state_dict, replace its first "
             "convolution by one with %s",
             counted(info.channels, "input channel").c_str()));
  log::info(strf(
      "torchvision's format cannot store class names and preprocessing (resize to %ld "
      "px, crop to %ld px, %s, mean %s, std %s); to keep them, export to .safetensors "
      "or .onnx",
      data.integer("val_resize"), data.integer("val_size"), data.string("interpolation").c_str(),
      data.string("mean").c_str(), data.string("std").c_str()));
}

}  // namespace

int export_command(const Arguments& given) {
  Arguments arguments = given;
  begin(arguments.job, dist::Env{});
  install_interruption_signals();
  resolve_arguments(arguments);
  if (!arguments.export_to.empty()) {
    require_writable_file("--output", arguments.export_to);
    require_no_checkpoint(arguments.export_to);
  }
  Weights weights = open_weights(arguments);
  require_torchvision(arguments, weights.model->info());
  take_class_names(arguments, weights);
  log_origin(weights);
  std::string file = arguments.export_to;
  if (file.empty()) {
    file = weights.job.model.name;
    for (const FormatRow& row : formats())
      if (row.format == arguments.export_file.format) file += row.endings.front();
  }
  require_not_input(file, weights.file);
  train::CheckpointData data = model_data(weights);
  (weights.ema ? data.ema : data.model) = train::weights_of(*weights.model);
  train::export_file(data, arguments.export_file, file);
  log::line(printable_row(
      strf("%s: %s, %s, %s weights, %.1f MB", file.c_str(), weights.job.model.name.c_str(),
           counted(weights.job.model.classes, "class").c_str(),
           weights.ema ? "averaged" : "trained", megabytes(fs::file_size(file)))));
  if (arguments.export_file.format == Format::torchvision) print_torchvision(weights, data);
  return 0;
}

}  // namespace shoal::app
