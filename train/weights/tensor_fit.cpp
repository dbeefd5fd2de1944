#include "train/weights/tensor_fit.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"

namespace shoal::train {
namespace {

constexpr size_t kMaxText = 300;  // bytes; first_of() cuts longer entries

// Whether `rgb` is the shape of a convolution's weight for RGB images and `gray` the same shape for
// grayscale images.
bool is_gray_of(const std::vector<int64_t>& gray, std::vector<int64_t> rgb) {
  if (rgb.size() != 4 || rgb[1] != 3) return false;
  rgb[1] = 1;
  return gray == rgb;
}

bool same_sizes(const std::vector<int64_t>& ours, std::vector<int64_t> theirs, bool any_first) {
  if (ours.size() == 2 && theirs.size() == 4 && theirs[2] == 1 && theirs[3] == 1)
    theirs.resize(2);  // a linear layer stored as a 1×1 convolution
  if (ours.size() != theirs.size()) return false;
  if (std::ranges::find(theirs, 0) != theirs.end()) return false;
  const auto skip = any_first && !ours.empty() ? 1 : 0;
  return std::equal(ours.begin() + skip, ours.end(), theirs.begin() + skip) ||
         is_gray_of(ours, theirs);
}

Fit fit_in(const NameFamily& family, const TensorShapes& model, const std::string& classifier,
           const std::map<std::string, std::vector<int64_t>>& file) {
  Fit fit;
  fit.family = &family;
  const std::vector<std::string> names = names_in(family, model);
  if (names.empty()) return fit;
  std::set<std::string> known;
  for (size_t i = 0; i < model.size(); ++i) {
    const auto found = file.find(names[i]);
    known.insert(names[i]);
    const bool in_head = model[i].name.starts_with(classifier + ".");
    if (found == file.end())
      fit.misfits.push_back({model[i], names[i], std::nullopt});
    else if (!same_sizes(model[i].sizes, found->second, in_head))
      fit.misfits.push_back({model[i], names[i], found->second});
    else
      fit.taken.emplace_back(model[i].name, names[i]);
  }
  for (const auto& [name, sizes] : file)
    if (!known.contains(name) && name != "n_averaged") fit.unused.push_back(name);
  return fit;
}

// Returns the number of names that the model and the file have in common.
size_t common_names(const Fit& fit) {
  return fit.taken.size() + static_cast<size_t>(std::count_if(
                                fit.misfits.begin(), fit.misfits.end(),
                                [](const auto& it) { return it.stored_sizes.has_value(); }));
}

}  // namespace

std::string Misfit::sentence() const {
  std::string text = wanted.name;
  if (stored_name != wanted.name) text += " (" + stored_name + ")";
  if (!stored_sizes) return text + " is missing";
  return text + " has the shape " + shape_text(wanted.sizes) + ", in the file " +
         shape_text(*stored_sizes);
}

bool Fit::needs_gray() const {
  return misfits.size() == 1 && misfits[0].stored_sizes &&
         is_gray_of(*misfits[0].stored_sizes, misfits[0].wanted.sizes);
}

double Fit::share() const {
  const auto all = static_cast<double>(2 * taken.size() + misfits.size() + unused.size());
  return all > 0 ? 2 * static_cast<double>(taken.size()) / all : 0;
}

Fit fit_tensors(const TensorShapes& model, const std::string& classifier,
                const TensorShapes& file) {
  std::map<std::string, std::vector<int64_t>> by_name;
  for (const auto& tensor : file) by_name[tensor.name] = tensor.sizes;
  std::optional<Fit> best;
  for (const NameFamily& family : name_families()) {
    Fit fit = fit_in(family, model, classifier, by_name);
    if (!best || common_names(fit) > common_names(*best)) best = std::move(fit);
  }
  return *best;
}

std::string first_of(std::vector<std::string> list, size_t most) {
  for (std::string& text : list) text.resize(std::min(text.size(), kMaxText));
  return joined(list, ", ", most);
}

std::vector<std::string> sentences(const std::vector<Misfit>& misfits) {
  std::vector<std::string> list;
  for (const Misfit& misfit : misfits) list.push_back(misfit.sentence());
  return list;
}

std::string shape_text(const std::vector<int64_t>& sizes) {
  std::vector<std::string> texts;
  for (const int64_t size : sizes) texts.push_back(std::to_string(size));
  return texts.empty() ? "scalar" : joined(texts, "×");
}

TensorShapes shapes_of(const StoredTensors& tensors) {
  TensorShapes shapes;
  for (const auto& [name, tensor] : tensors) shapes.push_back({name, tensor.sizes});
  return shapes;
}

}  // namespace shoal::train
