#include "data/records/record_io.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "data/container/catalogue.h"
#include "data/container/label_text.h"
#include "data/container/scan_files.h"
#include "data/errors.h"
#include "data/limits.h"
#include "data/records/record_list.h"
#include "data/records/record_parts.h"
#include "data/records/record_payload.h"

namespace shoal::data {
namespace {

class RecordScan {
 public:
  RecordScan(const File& file, const RecordList& list, bool unlabeled)
      : file_(file), list_(list), unlabeled_(unlabeled), source_(file), reader_(source_) {}

  Scan run() {
    for (RecordExtent record; reader_.next(record);) one(record);
    if (pairing_.label_waits()) reader_.refuse("is a label without an image");
    return std::move(scan_);
  }

 private:
  void one(const RecordExtent& record) {
    std::array<uint8_t, kPayloadHead> head{};
    const size_t known = std::min<uint64_t>(record.bytes, head.size());
    if (!read_payload(file_, record.begin, 0, head.data(), known)) reader_.refuse("cannot be read");
    const RecordPayload payload = examined(std::span(head).first(known), record.bytes);
    if (payload.kind == RecordPayload::Kind::image)
      wrapped_image(record);
    else if (payload.kind == RecordPayload::Kind::mxnet)
      mxnet_image(record, payload);
    else if (!unlabeled_)
      wrapped_label(record);
  }

  RecordPayload examined(std::span<const uint8_t> head, uint64_t bytes) const {
    try {
      return examine_payload(head, bytes, unlabeled_);
    } catch (const std::invalid_argument& error) {
      reader_.refuse(error.what());
    }
  }

  // Returns the entry of an image that begins `skip` bytes into the payload. For a record in one
  // part, entry.offset is the image's offset in the file, and entry.behind is 0. For a record in
  // several parts, entry.offset is the offset of the record, and entry.behind is the number of
  // parts.
  static ScanEntry entry_of(const RecordExtent& record, uint32_t skip) {
    constexpr uint64_t kPartHead = 8;
    ScanEntry entry;
    const bool split = record.parts > 1;
    entry.offset = record.begin + (split ? 0 : kPartHead + skip);
    entry.bytes = record.bytes - skip;
    entry.before = skip;
    entry.behind = split ? record.parts : 0;
    return entry;
  }

  void mxnet_image(const RecordExtent& record, const RecordPayload& payload) {
    ScanEntry entry = entry_of(record, payload.skip);
    entry.number = payload.number;
    const auto line = list_.by_id.find(payload.id);
    if (line != list_.by_id.end() && list_.names_classes)
      entry.text = scan_.place_of(line->second.folder);
    add(entry, line == list_.by_id.end() ? "" : " (" + line->second.path + ")");
  }

  void wrapped_image(const RecordExtent& record) {
    ScanEntry entry = entry_of(record, 0);
    if (const auto label = pairing_.image()) set_label(*label, scan_, entry);
    add(entry, "");
  }

  void wrapped_label(const RecordExtent& record) {
    std::string text(std::min(record.bytes, kMaxWrappedLabel + 1), '\0');
    if (!read_payload(file_, record.begin, 0, reinterpret_cast<uint8_t*>(text.data()), text.size()))
      reader_.refuse("cannot be read");
    const auto label = parse_wrapped_label(text);
    if (!label) reader_.refuse("is neither an image nor a label");
    if (pairing_.label_waits()) reader_.refuse("is a second label for one image");
    if (pairing_.label(*label)) set_label(*label, scan_, scan_.entries.back());
  }

  void add(const ScanEntry& entry, const std::string& more) {
    scan_.add(entry, reader_.name() + more);
  }

  const File& file_;
  const RecordList& list_;
  const bool unlabeled_;
  FileSource source_;
  RecordIoReader reader_;
  LabelPairing pairing_;
  Scan scan_;
};

class RecordIoDataset : public ContainerDataset {
 public:
  using ContainerDataset::ContainerDataset;
  void read(int64_t sample, std::vector<uint8_t>& bytes) const override {
    const Image& p = image(sample);
    if (p.behind == 0 || p.bytes > static_cast<uint64_t>(kMaxFileBytes))
      return ContainerDataset::read(sample, bytes);
    bytes.resize(p.bytes);
    try {
      if (!read_payload(*open_file(p.file), p.offset, p.before, bytes.data(), p.bytes))
        throw DamagedImage("its record has changed since it was listed");
    } catch (const FileFailure& failure) {
      throw_for_image(failure);
    }
  }
};

}  // namespace

bool is_record_io(const File& file) {
  try {
    FileSource source(file);
    RecordExtent record;
    return RecordIoReader(source).next(record);
  } catch (const std::invalid_argument&) {
    return false;
  }
}

std::shared_ptr<const Dataset> open_record_io(const std::vector<std::string>& paths,
                                              const OpenOptions& options) {
  if (!options.labels.empty()) refuse_labels(paths[0]);
  std::vector<SourceFile> files = stamped(paths);
  std::unordered_map<std::string, RecordList> lists;
  std::string kind = options.unlabeled ? "recordio unlabelled" : "recordio";
  for (const std::string& path : paths) {
    lists[path] = read_record_list(path);
    kind += " " + lists[path].stamp;
  }
  const std::vector<Scan> scans = scan_files(kind, files, options, [&](const File& file) {
    return RecordScan(file, lists.at(file.path()), options.unlabeled).run();
  });
  Catalogue catalogue = options.unlabeled ? catalogue_unlabeled(scans)
                                          : catalogue_by_label(files, scans, options.classes);
  return std::make_shared<RecordIoDataset>(std::move(files), std::move(catalogue), options.reads);
}

}  // namespace shoal::data
