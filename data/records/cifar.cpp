#include "data/records/cifar.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/file/folder.h"
#include "base/file/whole_file.h"
#include "base/text.h"
#include "data/byte_source.h"
#include "data/container/catalogue.h"
#include "data/container/scan_files.h"
#include "data/image/raw_pixels.h"
#include "data/records/tensor_image.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kCifarSide = 32;  // pixels
constexpr int64_t kCifarBytes = 3 * kCifarSide * kCifarSide;

struct CifarKind {
  const char* name;
  const char* names_file;
  std::array<int, 2> classes;  // number of values of each label byte; the last byte is the class
  size_t label_bytes;
  int64_t record() const { return static_cast<int64_t>(label_bytes) + kCifarBytes; }
  int class_count() const { return classes[label_bytes - 1]; }
  std::string names_path(const std::string& path) const {
    return fs::path(path).replace_filename(names_file).string();
  }
};
constexpr CifarKind kCifarKinds[] = {
    {"CIFAR-10", "batches.meta.txt", {10, 0}, 1},
    {"CIFAR-100", "fine_label_names.txt", {20, 100}, 2},
};

bool first_label_fits(const File& file, const CifarKind& kind) {
  std::array<uint8_t, 2> label{};
  file.read_at(0, label.data(), static_cast<int64_t>(kind.label_bytes));
  return std::equal(label.begin(), label.begin() + kind.label_bytes, kind.classes.begin(),
                    [](uint8_t value, int count) { return value < count; });
}

// Returns whether the file is of CIFAR-10 or CIFAR-100. Decides by the file's size or, if the size
// fits both, by the name of the file of class names in the same folder.
const CifarKind& cifar_kind(const File& file) {
  const int64_t bytes = file.stamp().bytes;
  std::vector<const CifarKind*> fitting, named;
  for (const CifarKind& kind : kCifarKinds) {
    if (bytes == 0 || bytes % kind.record() != 0) continue;
    fitting.push_back(&kind);
    if (path_exists(kind.names_path(file.path()))) named.push_back(&kind);
  }
  if (fitting.empty())
    throw std::invalid_argument(
        file.path() + " has " + std::to_string(bytes) +
        " bytes; expected a multiple of 3073 (CIFAR-10) or 3074 (CIFAR-100). Unpack or download it "
        "again");
  if (fitting.size() == 1) return *fitting[0];
  if (named.size() == 1) return *named[0];
  throw std::invalid_argument(file.path() +
                              " may be of CIFAR-10 or CIFAR-100 by its size; put one of "
                              "batches.meta.txt and fine_label_names.txt beside it");
}

const CifarKind& cifar_kind(const std::vector<std::string>& paths) {
  const CifarKind& kind = cifar_kind(File(paths[0]));
  for (const std::string& path : paths)
    if (const CifarKind& other = cifar_kind(File(path)); &other != &kind)
      throw std::invalid_argument(paths[0] + " is of " + kind.name + ", but " + path + " is of " +
                                  other.name);
  return kind;
}

// Returns nothing if there is no file of names.
std::vector<std::string> cifar_names(const std::string& file) {
  if (!path_exists(file)) return {};
  std::vector<std::string> names = read_lines(file);
  std::erase(names, "");
  if (names.empty()) throw std::invalid_argument(file + " contains no class name");
  std::set<std::string> all;
  for (const std::string& name : names)
    if (!all.insert(name).second) throw std::invalid_argument(file + " names '" + name + "' twice");
  return names;
}

std::vector<std::string> cifar_names(const CifarKind& kind, const std::vector<std::string>& paths) {
  const std::string first = kind.names_path(paths[0]);
  std::vector<std::string> names = cifar_names(first);
  for (const std::string& path : paths) {
    const std::string other = kind.names_path(path);
    if (other != first && cifar_names(other) != names)
      throw std::invalid_argument("the classes in " + first + " and " + other +
                                  " differ; expected equal files");
  }
  return names;
}

bool is_name_of(std::string_view split, std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  return std::ranges::any_of(cifar_files(split), [&](const std::string_view pattern) {
    const size_t star = pattern.find('*');
    if (star == pattern.npos) return name == pattern;
    return name.starts_with(pattern.substr(0, star)) && name.ends_with(pattern.substr(star + 1));
  });
}

void refuse_both_splits(const std::vector<std::string>& paths) {
  const auto first = [&](std::string_view split) {
    return std::ranges::find_if(paths, [&](const auto& path) { return is_name_of(split, path); });
  };
  const auto train = first("train"), test = first("val");
  if (train != paths.end() && test != paths.end())
    throw std::invalid_argument(*train + " contains training images, and " + *test +
                                " test images; use --data " + parent_folder(*train).string() +
                                ", or name them separately, such as --train "
                                "'DIR/data_batch_*.bin' --val DIR/test_batch.bin");
}

// `names`: class names; empty: none.
Scan scan_cifar(const File& file, const CifarKind& kind, const std::vector<std::string>& names,
                bool unlabeled) {
  const size_t classes = names.empty() ? static_cast<size_t>(kind.class_count()) : names.size();
  Scan scan;
  FileSource source(file);
  std::array<uint8_t, 2> bytes{};
  for (int64_t i = 0; source.read(bytes.data(), kind.label_bytes) == kind.label_bytes; ++i) {
    const std::string name = "record " + std::to_string(i);
    const uint8_t label = bytes[kind.label_bytes - 1];
    ScanEntry entry;
    entry.offset = source.position();
    entry.bytes = kCifarBytes;
    entry.before = static_cast<uint32_t>(kind.label_bytes);
    if (!unlabeled) {
      if (label >= classes)
        throw std::invalid_argument(
            file.path() + ":" + name + " has the label " + std::to_string(label) + ", but " +
            (names.empty() ? std::string(kind.name) : kind.names_path(file.path())) +
            " has only the classes 0 to " + std::to_string(classes - 1) +
            "; the file is damaged or of another kind");
      entry.number = label;
      if (!names.empty()) entry.text = scan.place_of(names[label]);
    }
    scan.add(entry, name);
    source.skip(kCifarBytes);
  }
  return scan;
}

class CifarDataset : public ContainerDataset {
 public:
  using ContainerDataset::ContainerDataset;
  int64_t encoded_bytes(int64_t /*sample*/) const override { return kRawHead + kCifarBytes; }
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override {
    static const ExampleKeys layout = [] {
      ExampleKeys keys;
      keys.raw = ExampleKeys::Raw::uint8;
      keys.height = keys.width = kCifarSide;
      keys.channels = 3;
      keys.planar = true;
      return keys;
    }();
    ContainerDataset::read(sample, bytes);
    bytes = image_of_tensor(bytes, layout);
  }
};

}  // namespace

bool is_cifar(const File& file) {
  if (!file.path().ends_with(".bin")) return false;
  const int64_t bytes = file.stamp().bytes;
  return std::ranges::any_of(kCifarKinds, [&](const CifarKind& kind) {
    return path_exists(kind.names_path(file.path())) ||
           (bytes > 0 && bytes % kind.record() == 0 && first_label_fits(file, kind));
  });
}

std::vector<const char*> cifar_files(std::string_view split) {
  if (split == "train") return {"data_batch_*.bin", "train.bin"};
  if (split == "val") return {"test_batch.bin", "test.bin"};
  return {};
}

bool is_cifar_name(std::string_view path) {
  return is_name_of("train", path) || is_name_of("val", path);
}

bool belongs_to_cifar(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  return name == "coarse_label_names.txt" ||
         std::ranges::any_of(kCifarKinds,
                             [&](const CifarKind& kind) { return name == kind.names_file; });
}

std::shared_ptr<const Dataset> open_cifar(const std::vector<std::string>& paths,
                                          const OpenOptions& options) {
  if (!options.labels.empty()) refuse_labels(paths[0]);
  if (!options.unlabeled) refuse_both_splits(paths);
  const CifarKind& kind = cifar_kind(paths);
  std::vector<std::string> classes;
  if (!options.unlabeled) classes = cifar_names(kind, paths);
  std::vector<SourceFile> files = stamped(paths);
  const std::string scan_kind =
      std::string(kind.name) + (options.unlabeled ? " unlabelled " : " ") + joined(classes, "\n");
  const std::vector<Scan> scans = scan_files(scan_kind, files, options, [&](const File& file) {
    return scan_cifar(file, kind, classes, options.unlabeled);
  });
  if (classes.empty()) classes = numbered_classes(kind.class_count());
  Catalogue catalogue =
      options.unlabeled
          ? catalogue_unlabeled(scans)
          : catalogue_by_label(files, scans, options.classes.empty() ? classes : options.classes);
  return std::make_shared<CifarDataset>(std::move(files), std::move(catalogue), options.reads);
}

}  // namespace shoal::data
