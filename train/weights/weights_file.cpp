#include "train/weights/weights_file.h"

#include <ATen/ops/zeros.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "base/format/grouped.h"
#include "train/job/job.h"
#include "train/weights/adapt_weights.h"
#include "train/weights/formats/safetensors.h"
#include "train/weights/formats/torch_archive.h"
#include "train/weights/formats/torch_file.h"
#include "train/weights/formats/zip_file.h"
#include "train/weights/model_file.h"
#include "train/weights/name_families.h"

namespace shoal::train {
namespace {

// Returns the number of parameters as text: "5,288,548 parameters".
std::string count_parameters(const NamedTensors& tensors) {
  int64_t count = 0;
  for (const auto& [name, value] : tensors) count += is_buffer(name) ? 0 : value.numel();
  return grouped(count) + " parameters";
}

// Adds missing num_batches_tracked counters as 0.
void add_missing_counters(NamedTensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, value] : tensors) names.push_back(name);
  for (const std::string& counter : missing_counters(names))
    tensors.emplace_back(counter, at::zeros({}, at::kLong));
}

// Returns the part of the path that may name the network, as in
// timm/tf_efficientnet_b0.ns_jft_in1k/resolve/main/FILE. Looks at the file's name and then at the
// three folders above it, and returns the first one that contains "efficientnet" or satisfies
// names_tensorflow(). If none does, returns the file's name.
std::string naming_part(const std::string& file) {
  constexpr int kFolders = 3;
  std::filesystem::path part = file;
  for (int i = 0; i <= kFolders && part.has_filename(); ++i, part = part.parent_path())
    if (const std::string name = part.filename().string();
        name.find("efficientnet") != std::string::npos || names_tensorflow(name))
      return name;
  return std::filesystem::path(file).filename().string();
}

// Selects one of a checkpoint's two sets of weights, `model` or `ema`.
void choose_entry(OpenedCheckpoint& opened, const std::string& wanted) {
  CheckpointData& data = opened.data;
  opened.entry = !wanted.empty() ? wanted : data.ema.empty() ? "model" : "ema";
  if (opened.entry == "model") return data.ema.clear();
  if (opened.entry != "ema" || data.ema.empty())
    throw UserError(opened.file + " has no entry '" + wanted + "'; it has " +
                    (data.ema.empty() ? "only model" : "model, ema") + " (--weights-entry)");
}

void refuse_entry(const std::string& file, const std::string& wanted) {
  if (!wanted.empty())
    throw UserError(file + " contains a single unnamed set of weights; omit --weights-entry");
}

OpenedCheckpoint read_foreign(const std::vector<char>& bytes, const std::string& file,
                              const std::string& entry) {
  StateDict found = read_torch_file(bytes, file, entry);
  add_missing_counters(found.tensors);
  OpenedCheckpoint opened{{}, file, found.entry};
  opened.data.text[kTheirModel] = found.arch.empty() ? naming_part(file) : found.arch;
  (found.averaged ? opened.data.ema : opened.data.model) = std::move(found.tensors);
  return opened;
}

OpenedCheckpoint read_safetensors_weights(const std::vector<char>& bytes, const std::string& file,
                                          const std::string& entry) {
  Safetensors content = read_safetensors(bytes, file);
  refuse_entry(file, entry);
  if (content.metadata["program"] == "shoal") return {read_model(bytes, file), file, ""};
  try {
    remove_wrappers(content.tensors);
  } catch (const UserError& error) {
    throw UserError(file + " " + error.what());
  }
  add_missing_counters(content.tensors);
  OpenedCheckpoint opened{{}, file, ""};
  opened.data.text[kTheirModel] = naming_part(file);
  opened.data.model = std::move(content.tensors);
  return opened;
}

}  // namespace

bool is_buffer(const std::string& name) {
  return name.ends_with(".running_mean") || name.ends_with(".running_var") ||
         name.ends_with(".num_batches_tracked") || name == "n_averaged";
}

std::string OpenedCheckpoint::contents() const {
  std::string text;
  if (data.text.contains(kAverageOf))
    text += "average of " + data.string(kAverageOf) +
            (data.string(kAverageOf) == "1" ? " checkpoint, " : " checkpoints, ");
  else if (data.integers.contains("step"))
    text += "epoch " + std::to_string(data.integer("epoch")) + ", step " +
            std::to_string(data.integer("step")) + ", ";
  if (!entry.empty()) text += "entry " + entry + ", ";
  return text + count_parameters(data.ema.empty() ? data.model : data.ema);
}

std::string OpenedCheckpoint::origin() const {
  return "weights of " + file + " (" + contents() + ")";
}

bool is_torch_file(const std::vector<char>& bytes) {
  // Zip files, including all checkpoints, start with this signature.
  const bool is_zip = bytes.size() > 4 && std::memcmp(bytes.data(), "PK\3\4", 4) == 0;
  return is_zip || is_legacy_torch_file(bytes);
}

bool is_weights_file(const std::vector<char>& bytes) {
  return is_torch_file(bytes) || is_safetensors(bytes);
}

std::string checksum_note(const std::vector<char>& bytes) {
  std::string wrong;
  try {
    wrong = ZipFile(bytes).wrong_checksum();
  } catch (const std::runtime_error&) {
    return "";
  }
  if (wrong.empty()) return "";
  return "the checksum of its " + wrong +
         " is wrong: the file is damaged, or was saved without checksums";
}

OpenedCheckpoint read_weights(const std::vector<char>& bytes, const std::string& file,
                              const std::string& entry) {
  if (is_safetensors(bytes)) return read_safetensors_weights(bytes, file, entry);
  if (is_legacy_torch_file(bytes)) return read_foreign(bytes, file, entry);
  OpenedCheckpoint opened{{}, file, ""};
  try {
    opened.data = read_checkpoint(bytes, file);
  } catch (const std::runtime_error&) {
    opened = read_foreign(bytes, file, entry);
    opened.warning = checksum_note(bytes);
    return opened;
  }
  choose_entry(opened, entry);
  return opened;
}

}  // namespace shoal::train
