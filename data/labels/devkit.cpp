#include "data/labels/devkit.h"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

#include "data/container/inflate.h"
#include "data/file.h"
#include "data/tar/tar_reader.h"

namespace shoal::data {
namespace {

constexpr uint64_t kMaxDevkit = uint64_t{1} << 28;  // bytes; ImageNet's has 2.5 MB

constexpr const char* kGroundTruth = "ILSVRC2012_validation_ground_truth.txt";
constexpr const char* kMeta = "meta.mat";

std::vector<uint8_t> member(const File& file, const std::vector<TarMember>& members,
                            const std::string& name) {
  const auto found = std::find_if(members.begin(), members.end(), [&](const TarMember& one) {
    return one.name == name || one.name.ends_with("/" + name);
  });
  if (found == members.end())
    throw std::invalid_argument(file.path() + " has no " + name +
                                ": it is not ImageNet's development kit");
  std::vector<uint8_t> bytes(found->bytes);
  file.read_at(found->offset, bytes.data(), static_cast<int64_t>(bytes.size()));
  return bytes;
}

}  // namespace

std::optional<Devkit> open_devkit(const std::string& path) {
  auto file = std::make_shared<const File>(path);
  std::array<uint8_t, 16> head{};
  file->read_at(0, head.data(), head.size());
  if (is_gzip(head)) file = inflate_file(*file, kMaxDevkit);
  if (!is_tar(*file)) return std::nullopt;
  const auto members = list_tar(*file, 0, static_cast<uint64_t>(file->stamp().bytes));
  const std::vector<uint8_t> truth = member(*file, members, kGroundTruth);
  return Devkit{{truth.begin(), truth.end()}, member(*file, members, kMeta)};
}

}  // namespace shoal::data
