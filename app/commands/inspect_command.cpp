// shoal inspect: describes a file of weights, a run or an export folder.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "app/commands/commands.h"
#include "app/commands/inputs/weights.h"
#include "app/commands/inspect_onnx.h"
#include "app/commands/printable_row.h"
#include "app/platform/signals.h"
#include "app/weights/fetch.h"
#include "base/file/checksum.h"
#include "base/file/whole_file.h"
#include "base/format/counted.h"
#include "base/format/grouped.h"
#include "base/json.h"
#include "base/log.h"
#include "train/checkpoint/find_checkpoint.h"
#include "train/weights/adapt_weights.h"
#include "train/weights/formats/file_contents.h"
#include "train/weights/model_file.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using train::FileContents;

struct File {
  std::string path, checksum;  // checksum: the result of checksum_state()
  std::vector<char> bytes;
  std::vector<train::CheckpointEntry> run;  // the run's checkpoints, if a run was given
  bool skipped = false;                     // whether newer checkpoints of the run are damaged
};

// Compares a checkpoint with the checksum in its marker, the .json file of the same name. Returns
// "correct", "wrong" or "no marker".
std::string checksum_state(const fs::path& path, const std::vector<char>& bytes) {
  const auto marker = train::read_marker(fs::path(path).replace_extension(".json"));
  if (!marker) return "no marker";
  Checksum checksum;
  checksum.update(bytes.data(), bytes.size());
  const bool same =
      checksum.hex() == marker->checksum && marker->bytes == static_cast<int64_t>(bytes.size());
  return same ? "correct" : "wrong";
}

// Returns the name of the checkpoint that locate_weights() tries first: the newest of the run.
// Empty if `text` is neither RUN nor RUN/last, or if there are no checkpoints.
std::string newest_name(const std::string& text) {
  const train::CheckpointPath place = train::parse_checkpoint_path(text);
  if (place.directory.empty() || place.best) return "";
  const auto names = train::store_in(place.directory).names();
  return names.empty() ? "" : names.front();
}

// Whether `file` is an older checkpoint than the one with the name `newest`.
bool is_older(const fs::path& file, const std::string& newest) {
  const auto opened = train::parse_checkpoint_name(file.stem());
  const auto first = train::parse_checkpoint_name(newest);
  return opened && first && opened->name != first->name && opened->step <= first->step;
}

// Opens a file even if its checksum is wrong. For a folder, opens the file that --weights would
// use.
File open(const std::string& text) {
  File file{text, "", {}, {}, false};
  if (fs::is_regular_file(text)) {
    file.bytes = read_whole_file(text);
    if (!train::is_weights_file(file.bytes))
      throw UserError("inspect: " + text +
                      " is not a file of weights (neither torch.save nor safetensors; an ONNX "
                      "model needs a name that ends with .onnx)");
  } else {
    // Called before locate_weights(), because the run may save a newer checkpoint in between.
    const std::string newest = newest_name(text);
    train::Located located = train::locate_weights(text, "inspect");
    file = {located.file, "", std::move(located.bytes), {}, is_older(located.file, newest)};
    file.run = train::list_checkpoints(fs::path(file.path).parent_path());
  }
  file.checksum = checksum_state(file.path, file.bytes);
  return file;
}

struct Count {
  int64_t parameters = 0, bytes = 0;
  std::set<std::string> types;
};

Count count(const train::StoredTensors& tensors) {
  Count sum;
  for (const auto& [name, tensor] : tensors) {
    const auto bytes = static_cast<int64_t>(tensor.bytes());
    sum.bytes += bytes;
    if (!train::is_buffer(name))
      sum.parameters += bytes / static_cast<int64_t>(train::bytes_of(tensor.element));
    if (!name.ends_with("num_batches_tracked")) sum.types.insert(train::name_of(tensor.element));
  }
  return sum;
}

// Returns the number of outputs of the classifier; 0 if it is unknown.
int64_t classes_in(const train::KnownModel& known, const FileContents& contents) {
  for (const auto& [name, stored] : known.fit.taken) {
    if (name != train::default_network(known.name).info.classifier) continue;
    for (const auto& [theirs, tensor] : contents.weights)
      if (theirs == stored) return tensor.sizes.at(0);
  }
  return 0;
}

std::string model_text(const std::optional<train::KnownModel>& known,
                       const FileContents& contents) {
  if (!known) return "none that shoal knows";
  std::string text = known->name + ", " + known->fit.family->name + "'s names";
  if (const int64_t classes = classes_in(*known, contents))
    text += ", " + counted(classes, "class");
  if (!known->fit.complete())
    text += strf("; not fitting: %s: ", counted(known->fit.misfits.size(), "tensor").c_str()) +
            train::first_of(train::sentences(known->fit.misfits), 2);
  if (!known->fit.unused.empty())
    text +=
        strf("; %zu unused: ", known->fit.unused.size()) + train::first_of(known->fit.unused, 2);
  return text;
}

std::string run_text(const std::vector<train::CheckpointEntry>& run) {
  if (run.empty()) return "";
  std::string text = counted(run.size(), "checkpoint") + ", newest " + run.front().name;
  if (const auto best = train::best_of(run))
    text += ", best " + best->name + strf(" with Acc@1 %.3f", *best->top1);
  return text;
}

std::string entry_text(const FileContents::Entry& entry) {
  const Count sum = count(entry.tensors);
  return (entry.name.empty() ? "" : entry.name + ": ") +
         strf("%s, %s parameters, %s, %.1f MB", counted(entry.tensors.size(), "tensor").c_str(),
              grouped(sum.parameters).c_str(),
              joined({sum.types.begin(), sum.types.end()}, "/").c_str(), megabytes(sum.bytes));
}

std::string pairs_text(const FileContents::Texts& pairs) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : pairs) texts.push_back(name + "=" + value.substr(0, 60));
  return joined(texts, "  ");
}

// Returns the pairs whose name is in `names`.
FileContents::Texts selected(const FileContents::Texts& all, const std::set<std::string>& names) {
  FileContents::Texts some;
  for (const auto& pair : all)
    if (names.contains(pair.first)) some.push_back(pair);
  return some;
}

void print_tensors(const FileContents& contents) {
  for (const auto& entry : contents.entries)
    for (const auto& [name, tensor] : entry.tensors)
      log::line(printable_row((entry.name.empty() ? "" : entry.name + "  ") + name + "  " +
                              train::shape_text(tensor.sizes) + "  " +
                              train::name_of(tensor.element)));
}

void print(const Arguments& arguments, const File& file, const FileContents& contents,
           const std::optional<train::KnownModel>& known) {
  const auto show = [](const char* heading, const std::string& text) {
    if (!text.empty()) log::line(printable_row(strf("%-10s", heading) + text));
  };
  show("file", file.path + strf(", %.1f MB", megabytes(file.bytes.size())));
  show("run", run_text(file.run));
  show("format", contents.format);
  show("checksum", file.checksum);
  show("model", model_text(known, contents));
  for (const auto& entry : contents.entries)
    show(&entry == &contents.entries.front() ? "entries" : "", entry_text(entry));
  if (!contents.used.empty())
    show("used", contents.used + " (--weights-entry selects another)");
  else if (contents.weights.empty())
    show("used", "none (no state dict, or several; --weights-entry selects one)");
  show("classes", train::first_of(contents.classes, 12));
  auto values = contents.values;
  if (!contents.value(train::kAverageOf).empty())  // an average has no epoch or step
    std::erase_if(values,
                  [](const auto& pair) { return pair.first == "epoch" || pair.first == "step"; });
  show("values",
       pairs_text(
           contents.is_ours
               ? selected(values, {"arch", "epoch", "step", "top1", "best_top1", "best_epoch",
                                   "val_size", "averaged", train::kAverageOf, "torch"})
               : FileContents::Texts(values.begin(),
                                     values.begin() + static_cast<std::ptrdiff_t>(
                                                          std::min<size_t>(values.size(), 20)))));
  show("settings",
       pairs_text(selected(contents.settings, {"epochs", "global_batch_size", "optimizer", "lr",
                                               "schedule", "weight_decay", "size", "ema", "amp",
                                               "seed", "label_smoothing", "val_split"})));
  if (arguments.tensors) print_tensors(contents);
}

Json to_json(const Arguments& arguments, const File& file, const FileContents& contents,
             const std::optional<train::KnownModel>& known) {
  Json json = {{"file", file.path},
               {"bytes", file.bytes.size()},
               {"format", contents.format},
               {"checksum", file.checksum}};
  if (known)
    json["model"] = {{"name", known->name},
                     {"names", known->fit.family->name},
                     {"classes", classes_in(*known, contents)},
                     {"misfits", train::sentences(known->fit.misfits)},
                     {"unused", known->fit.unused}};
  for (const auto& entry : file.run) json["checkpoints"].push_back(entry.name);
  for (const auto& entry : contents.entries) {
    const Count sum = count(entry.tensors);
    json["entries"].push_back({{"name", entry.name},
                               {"tensors", entry.tensors.size()},
                               {"parameters", sum.parameters},
                               {"dtypes", sum.types},
                               {"bytes", sum.bytes}});
    for (const auto& [name, tensor] : entry.tensors)
      if (arguments.tensors)
        json["tensors"].push_back({{"entry", entry.name},
                                   {"name", name},
                                   {"shape", tensor.sizes},
                                   {"dtype", train::name_of(tensor.element)}});
  }
  json["used"] = contents.used;
  json["classes"] = contents.classes;
  for (const auto& [name, value] : contents.values) json["values"][name] = value;
  for (const auto& [name, value] : contents.settings) json["settings"][name] = value;
  return json;
}

// Returns the weights that the user named as an argument or with --weights.
const std::string& given_weights(const Arguments& arguments) {
  const std::string& option = arguments.job.weights;
  if (arguments.paths.size() + (option.empty() ? 0 : 1) != 1)
    throw UserError(
        "inspect needs one set of WEIGHTS: a file of weights, a run, an export folder, or a name "
        "that `shoal weights` lists");
  return option.empty() ? arguments.paths.front() : option;
}

// Returns the path of the weights. If the user gave a name or URL, downloads the file if needed.
std::string path_of_weights(const Arguments& arguments) {
  try {
    return weights_finder(arguments)(given_weights(arguments));
  } catch (const UserError& error) {
    throw in_users_words(arguments, error);
  }
}

}  // namespace

int inspect_command(const Arguments& arguments) {
  log::set_level(arguments.job.log_level, 0);
  install_interruption_signals();
  const std::string path = path_of_weights(arguments);
  if (path.ends_with(".onnx") && fs::is_regular_file(path)) {
    inspect_onnx(path, read_whole_file(path), arguments.json, arguments.tensors);
    return 0;
  }
  const File file = open(path);
  const FileContents contents = train::read_contents(file.bytes, file.path);
  if (!contents.is_ours)
    for (const std::string& note :
         {wrong_digest_note(given_weights(arguments)), train::checksum_note(file.bytes)})
      if (!note.empty()) log::warning(file.path + ": " + note);
  train::TensorShapes shapes = train::shapes_of(contents.weights);
  std::vector<std::string> names;
  for (const auto& tensor : shapes) names.push_back(tensor.name);
  for (const std::string& counter : train::missing_counters(names)) shapes.push_back({counter, {}});
  const auto known = train::model_like(shapes);
  if (arguments.json)
    log::line(json_text(to_json(arguments, file, contents, known), 1));
  else
    print(arguments, file, contents, known);
  return file.checksum == "wrong" || file.skipped ? 1 : 0;
}

}  // namespace shoal::app
