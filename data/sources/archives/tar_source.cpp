#include "data/sources/archives/tar_source.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/parallel.h"
#include "data/container/catalogue.h"
#include "data/container/image_extensions.h"
#include "data/container/image_files.h"
#include "data/container/scan_files.h"
#include "data/records/cifar.h"
#include "data/sources/archives/split_folder.h"
#include "data/sources/folder_names.h"
#include "data/tar/sample.h"
#include "data/tar/tar_reader.h"
#include "data/tar/tar_walker.h"
#include "data/tar/webdataset.h"

namespace shoal::data {
namespace {

// Whether a member can be the label of a WebDataset sample. Labels are small files.
bool is_small_label(std::string_view name, uint64_t bytes) {
  return is_label_name(name) && bytes <= kMaxSampleLabel;
}

// Returns how many bytes of a member's content scan_tar() needs.
uint64_t content_needed(std::string_view name, uint64_t bytes) {
  if (is_small_label(name, bytes)) return bytes;
  const bool named = has_image_extension(name) || is_tar_name(name) || is_hidden(name);
  return named ? 0 : std::min<uint64_t>(bytes, kImageHead);
}

void remove_hidden(std::vector<TarMember>& members, LeftOut& left_out) {
  left_out.hidden += static_cast<int64_t>(
      std::erase_if(members, [](const TarMember& member) { return is_hidden(member.name); }));
}

// Removes members that are neither images nor tars.
void remove_others(std::vector<TarMember>& members, LeftOut& left_out) {
  std::erase_if(members, [&](const TarMember& member) {
    const auto* const head = reinterpret_cast<const uint8_t*>(member.content.data());
    if (is_tar_name(member.name) || is_image(member.name, {head, member.content.size()}))
      return false;
    left_out.add(member.name);
    return true;
  });
}

// Lists the members of `tars`, which are tars inside `file`. Uses several threads, because a single
// large file would otherwise be listed by one thread.
std::vector<TarMember> members_inside(const File& file, const std::vector<TarMember>& tars,
                                      int threads, bool unlabeled, LeftOut& left_out) {
  std::vector<std::vector<TarMember>> found(tars.size());
  std::vector<LeftOut> others(tars.size());
  for_each_index(tars.size(), threads, [&](size_t i) {
    found[i] = list_tar(file, tars[i].offset, tars[i].offset + tars[i].bytes, content_needed);
    remove_hidden(found[i], others[i]);
    if (!unlabeled && is_webdataset(found[i]))
      throw std::invalid_argument(file.path() + ":" + tars[i].name +
                                  " is a WebDataset shard inside a tar; unpack " + file.path());
    for (TarMember& member : found[i]) member.name.insert(0, tars[i].name + "/");
    remove_others(found[i], others[i]);
  });
  std::vector<TarMember> all;
  for (size_t i = 0; i < tars.size(); ++i) {
    if (found[i].empty())
      throw std::invalid_argument(file.path() + ":" + tars[i].name +
                                  " has no image; add some or remove it");
    left_out.add(others[i]);
    for (TarMember& member : found[i]) all.push_back(std::move(member));
  }
  return all;
}

Scan scan_tar(const File& file, int threads, Reads reads, bool unlabeled) {
  Scan scan;
  std::vector<TarMember> members =
      list_tar(file, 0, static_cast<uint64_t>(file.stamp().bytes), content_needed);
  remove_hidden(members, scan.left_out);
  if (is_webdataset(members)) {
    if (!unlabeled) {
      Scan samples = scan_webdataset(file.path(), members);
      samples.left_out.add(scan.left_out);
      return samples;
    }
    std::erase_if(members, [](const TarMember& member) { return is_label_name(member.name); });
  }
  const auto cifar = std::ranges::find_if(
      members, [](const TarMember& member) { return is_cifar_name(member.name); });
  const std::string cifar_name = cifar == members.end() ? "" : cifar->name;
  remove_others(members, scan.left_out);
  if (members.empty() && !cifar_name.empty())
    throw std::invalid_argument(file.path() + " contains a file of CIFAR (" + cifar_name +
                                "), which cannot be read inside a tar; unpack it: tar xf " +
                                file.path());
  const auto tars = std::count_if(members.begin(), members.end(),
                                  [](const TarMember& m) { return is_tar_name(m.name); });
  if (tars > 0 && tars < static_cast<int64_t>(members.size()))
    throw std::invalid_argument(file.path() + " contains both tars and images; separate them");
  if (tars > 0 && reads == Reads::forward)  // opens the file again, to read from its start
    members = members_inside(File(file.path(), reads), members, 1, unlabeled, scan.left_out);
  else if (tars > 0)
    members = members_inside(file, members, threads, unlabeled, scan.left_out);
  for (const TarMember& member : members) {
    ScanEntry entry;
    entry.offset = member.offset;
    entry.bytes = member.bytes;
    scan.add(entry, member.name);
  }
  return scan;
}

}  // namespace

std::shared_ptr<const Dataset> open_tars(const std::vector<std::string>& paths,
                                         const OpenOptions& options) {
  std::vector<SourceFile> files = stamped(paths);
  const auto scan = [&](const File& file) {
    return scan_tar(file, files.size() == 1 ? options.threads : 1, options.reads,
                    options.unlabeled);
  };
  std::vector<Scan> scans =
      scan_files(options.unlabeled ? "tar 2 unlabelled" : "tar 2", files, options, scan);
  if (!options.split.empty()) keep_split(scans, files, options);
  const bool labeled = std::any_of(scans.begin(), scans.end(), [](const Scan& found) {
    return std::any_of(found.entries.begin(), found.entries.end(), [](const ScanEntry& entry) {
      return entry.text >= 0 || entry.number != kNoNumber;
    });
  });
  if (labeled && !options.labels.empty()) refuse_labels(paths[0]);
  Catalogue catalogue = options.unlabeled ? catalogue_unlabeled(scans)
                        : labeled         ? catalogue_by_label(files, scans, options.classes)
                                          : catalogue_by_folder(files, scans, options);
  return std::make_shared<ContainerDataset>(std::move(files), std::move(catalogue), options.reads);
}

}  // namespace shoal::data
