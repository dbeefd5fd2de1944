// Implements the functions of find_checkpoint.h that run on one rank and find weights or
// checkpoints in a folder. find_checkpoint.cpp has the others.
#include <fstream>

#include "base/file/whole_file.h"
#include "base/log.h"
#include "train/checkpoint/find_checkpoint.h"
#include "train/checkpoint/position.h"
#include "train/report/sinks.h"
#include "train/weights/formats/zip_file.h"
#include "train/weights/model_file.h"

namespace shoal::train {
namespace fs = std::filesystem;
namespace {

bool has_checkpoints(const fs::path& directory) {
  return !CheckpointStore(directory, 1).names().empty();
}

CheckpointEntry examine(const std::vector<char>& bytes, const std::string& file) {
  const CheckpointData data = read_checkpoint(bytes, file);
  ZipFile(bytes).check_contents();  // there is no marker with a checksum to compare
  CheckpointEntry entry;
  entry.epoch = data.integer("epoch");
  entry.step = data.integer("step");
  if (data.numbers.contains("top1")) entry.top1 = data.number("top1");
  entry.closing = has_closing_evaluation(data);
  return entry;
}

// Finds the weights in a directory by the rules of open_checkpoint(). `best`: applies the rules for
// DIR/best instead of DIR. `option` appears in messages.
Located locate_in(const fs::path& directory, bool best, const std::string& option) {
  const CheckpointStore store = store_in(directory);
  if (const auto entry = store.best(); best && entry)
    return {store.read(*entry), store.path(*entry).string()};
  const fs::path model = directory / kModelFile;
  if (!best && store.names().empty() && fs::exists(model))
    return {read_whole_file(model), model.string()};
  auto newest = store.newest_good(log::warning);
  if (!newest) throw UserError(option + ": the directory contains no checkpoint");
  if (best) log::warning("no checkpoint has been evaluated; using the newest one as the best");
  return {std::move(newest->second), store.path(newest->first).string()};
}

}  // namespace

CheckpointStore checkpoint_store(const fs::path& directory, int64_t keep) {
  return {directory, keep, examine};
}

fs::path stored_checkpoint_dir(const fs::path& directory) {
  const std::string key = "checkpoint-dir = \"";
  std::ifstream file(directory / kConfigFile);
  for (std::string line; std::getline(file, line);) {
    const size_t end = line.find('"', key.size());
    if (!line.starts_with(key) || end == line.npos) continue;
    const fs::path folder = line.substr(key.size(), end - key.size());
    if (has_checkpoints(folder)) return folder;
  }
  return {};
}

CheckpointStore store_in(const fs::path& directory) {
  const fs::path inner = directory / kCheckpointsFolder;
  if (has_checkpoints(directory)) return checkpoint_store(directory, 1);
  const fs::path stored = has_checkpoints(inner) ? fs::path() : stored_checkpoint_dir(directory);
  return checkpoint_store(stored.empty() ? inner : stored, 1);
}

CheckpointPath parse_checkpoint_path(fs::path path) {
  if (!path.has_filename()) path = path.parent_path();  // treats "dir/" like "dir"
  std::error_code none;
  if (fs::is_directory(path, none)) return {path, path};
  const bool best = path.filename() == "best";
  if (fs::exists(path, none) || !(best || path.filename() == "last")) return {path, {}};
  const fs::path directory = parent_folder(path);
  if (!fs::is_directory(directory, none)) return {path, {}};
  return {path, directory, best};
}

Located locate_weights(const std::string& text, const std::string& name) {
  const std::string option = name + " " + text;
  const auto [path, directory, best] = parse_checkpoint_path(text);
  if (!directory.empty()) return locate_in(directory, best, option);
  if (!fs::exists(path)) throw UserError(option + ": no such file or directory");
  Located located{read_checked(path), path.string()};
  if (located.file.ends_with(".onnx") && !is_weights_file(located.bytes))
    throw UserError(option +
                    " is an ONNX model, which shoal writes but does not read; use the weights that "
                    "it was exported from");
  if (!is_weights_file(located.bytes))
    throw UserError(option +
                    " is not a checkpoint (neither a file of torch.save nor a safetensors file); "
                    "use a file or output folder of shoal train or, for "
                    "--weights, a file of another program");
  return located;
}

}  // namespace shoal::train
