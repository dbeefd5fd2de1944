#include "data/records/tf_record.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/file/crc32c.h"
#include "base/text.h"
#include "data/container/catalogue.h"
#include "data/container/inflate.h"
#include "data/container/scan_files.h"
#include "data/errors.h"
#include "data/limits.h"
#include "data/records/tensor_image.h"
#include "data/records/tf_example.h"
#include "data/records/tf_record_reader.h"

namespace shoal::data {
namespace {

constexpr size_t kKeptUnpacked = 2;  // decompressed files in memory: the current one and the next

enum class Packing { none, whole_file, no_records };

Packing packing_of(const File& file) {
  std::array<uint8_t, 4096> head{};
  const int64_t count = file.read_at(0, head.data(), static_cast<int64_t>(head.size()));
  const std::span<const uint8_t> known(head.data(), static_cast<size_t>(count));
  // Checked first, because the length of a record may look like the beginning of zlib data.
  if (begins_tf_record(known)) return Packing::none;
  if (!is_compressed(known)) return Packing::no_records;
  return begins_tf_record(inflate_head(known, kTfRecordHead)) ? Packing::whole_file
                                                              : Packing::no_records;
}

bool data_is_whole(const File& file, uint64_t data, uint64_t bytes) {
  std::vector<uint8_t> all(bytes + kTfRecordCheck);
  const auto wanted = static_cast<int64_t>(all.size());
  if (file.read_at(data, all.data(), wanted) != wanted) return false;
  return tf_record_is_whole(std::span(all).first(bytes), all.data() + bytes);
}

class TfRecordScan {
 public:
  TfRecordScan(const File& file, const ExampleKeys& keys)
      : file_(file), keys_(keys), source_(file), reader_(source_) {}

  Scan run() {
    while (reader_.next()) {
      const uint64_t behind = reader_.length() + kTfRecordCheck;
      if (behind < kTfRecordCheck || source_.skip(behind) < behind) reader_.refuse("is cut short");
      add(reader_.data(), reader_.data() + reader_.length());
    }
    return std::move(scan_);
  }

 private:
  void add(uint64_t data, uint64_t end) {
    try {
      const Example example = read_example(file_, data, end, keys_);
      ScanEntry entry;
      entry.offset = example.image;
      entry.bytes = example.image_bytes;
      entry.before = within(example.image - data);
      entry.behind = within(end - example.image - example.image_bytes);
      if (example.number) entry.number = checked(*example.number);
      // Without this check, one damaged label would add classes to the model.
      if (adds_class(example) && !data_is_whole(file_, data, end - data)) {
        scan_.left_out.add_damaged(reader_.name());
        return;
      }
      largest_ = std::max(largest_, entry.number);
      if (example.number) smallest_ = std::min(smallest_, entry.number);
      if (!example.class_name.empty()) entry.text = scan_.place_of(example.class_name);
      scan_.add(entry, reader_.name() + (example.name.empty() ? "" : " (" + example.name + ")"));
    } catch (const std::invalid_argument& error) {
      const std::string sentence = file_.path() + ":" + reader_.name() + " ";
      const bool too_large = end - data > static_cast<uint64_t>(kMaxFileBytes);
      if (too_large || data_is_whole(file_, data, end - data))
        throw std::invalid_argument(sentence + error.what());
      scan_.left_out.add_damaged(reader_.name());
    }
  }

  // Returns true if the example has a new class name, a number outside the range so far, or another
  // kind of label than the example before it. A number above the range adds a class. A number below
  // it may decide whether numbers start at 0 or 1.
  bool adds_class(const Example& example) const {
    const bool named = !example.class_name.empty(), numbered = example.number.has_value();
    return (named && !scan_.has_text(example.class_name)) ||
           (numbered && (*example.number > largest_ || *example.number < smallest_)) ||
           (scan_.size() > 0 && (named != (scan_.entries.back().text >= 0) ||
                                 numbered != (scan_.entries.back().number != kNoNumber)));
  }

  static uint32_t within(uint64_t bytes) {
    if (bytes > static_cast<uint64_t>(kMaxFileBytes))
      throw std::invalid_argument("is too large for an image's record");
    return static_cast<uint32_t>(bytes);
  }

  static int64_t checked(int64_t label) {
    if (label < 0 || label > INT32_MAX)
      throw std::invalid_argument("has the label " + std::to_string(label) +
                                  "; it must be between 0 and 2147483647");
    return label;
  }

  const File& file_;
  const ExampleKeys& keys_;
  FileSource source_;
  TfRecordReader reader_;
  Scan scan_;
  int64_t smallest_ = INT64_MAX, largest_ = kNoNumber;  // of the labels so far
};

// Returns the label of the first class. Throws std::invalid_argument if the files do not show
// whether this label is 0 or 1, and a wrong guess could give images wrong classes. That can happen
// only if the class list is given or other hosts have other files.
int64_t first_label(const ExampleKeys& keys, const std::vector<Scan>& scans,
                    const OpenOptions& options) {
  if (keys.label_offset) return *keys.label_offset;
  int64_t largest = 0;
  for (const Scan& scan : scans) {
    for (const ScanEntry& entry : scan.entries) {
      if (entry.number == 0) return 0;
      largest = std::max(largest, entry.number);
    }
  }
  const int64_t guess = keys.first_label(), classes = std::ssize(options.classes);
  const bool ambiguous = classes > 0 ? largest < classes : options.others_elsewhere;
  if (guess != 0 && largest > 0 && ambiguous && !options.unlabeled &&
      !labeled_by_name(scans, options.classes))
    throw std::invalid_argument(
        strf("no label is 0 and the largest is %ld, so the first class may be 0 or 1; set it with "
             "--tfrecord-keys label-offset=0 or label-offset=1",
             largest));
  return guess;
}

// Subtracts the label of the first class, so that labels start at 0.
void shift_labels(const std::vector<SourceFile>& files, int64_t offset, std::vector<Scan>& scans) {
  for (size_t file = 0; file < scans.size(); ++file) {
    for (size_t i = 0; i < scans[file].size(); ++i) {
      int64_t& number = scans[file].entries[i].number;
      if (number == kNoNumber) continue;
      if (number < offset)
        throw std::invalid_argument(files[file].path + ":" + std::string(scans[file].name(i)) +
                                    " has the label " + std::to_string(number) +
                                    ", which is below label-offset=" + std::to_string(offset));
      number -= offset;
    }
  }
}

// Decompresses files and keeps the last kKeptUnpacked in memory. Thread-safe.
class UnpackedFiles {
 public:
  std::shared_ptr<const File> open(uint32_t number, const File& packed) const {
    const std::lock_guard lock(mutex_);  // also held while decompressing, so other threads wait
    for (const auto& [known, file] : kept_)
      if (known == number) return file;
    if (kept_.size() >= kKeptUnpacked) kept_.pop_front();
    kept_.emplace_back(number, inflate_file(packed));
    return kept_.back().second;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::deque<std::pair<uint32_t, std::shared_ptr<const File>>> kept_;
};

class TfRecordDataset : public ContainerDataset {
 public:
  TfRecordDataset(std::vector<SourceFile> files, Catalogue catalogue, std::vector<bool> packed,
                  ExampleKeys keys, Reads reads)
      : ContainerDataset(std::move(files), std::move(catalogue), reads),
        packed_(std::move(packed)),
        keys_(std::move(keys)) {}

  void read(int64_t sample, std::vector<uint8_t>& bytes) const override {
    const Image& p = image(sample);
    check_size(p);
    std::shared_ptr<const File> file = open_file(p.file);
    if (packed_[p.file]) file = unpacked_.open(p.file, *file);
    bytes.resize(p.bytes);
    read_fully(*file, p.offset, bytes.data(), static_cast<int64_t>(p.bytes));
    thread_local std::vector<uint8_t> around;  // bytes before and after the image; memory is reused
    around.resize(size_t{p.before} + p.behind + kTfRecordCheck);
    read_fully(*file, p.offset - p.before, around.data(), p.before);
    read_fully(*file, p.offset + p.bytes, around.data() + p.before,
               static_cast<int64_t>(p.behind + kTfRecordCheck));
    uint32_t sum = crc32c(0, around.data(), p.before);
    sum = crc32c(sum, bytes.data(), bytes.size());
    sum = crc32c(sum, around.data() + p.before, p.behind);
    uint32_t check = 0;
    std::memcpy(&check, around.data() + p.before + p.behind, sizeof check);
    if (masked_crc(sum) != check) throw DamagedImage("its record has a wrong checksum");
    if (keys_.raw != ExampleKeys::Raw::no) bytes = image_of_tensor(bytes, keys_);
  }

 private:
  std::vector<bool> packed_;  // whether each file is compressed
  ExampleKeys keys_;
  UnpackedFiles unpacked_;
};

}  // namespace

bool is_tf_record(const File& file) {
  return packing_of(file) != Packing::no_records;
}

std::shared_ptr<const Dataset> open_tf_records(const std::vector<std::string>& paths,
                                               const OpenOptions& options) {
  if (!options.labels.empty()) refuse_labels(paths[0]);
  ExampleKeys keys = parse_example_keys(options.tfrecord_keys);
  keys.unlabeled = options.unlabeled;
  std::vector<SourceFile> files = stamped(paths);
  std::vector<bool> packed;
  for (const std::string& path : paths) {
    packed.push_back(packing_of(File(path)) == Packing::whole_file);
    if (packed.back() && !options.in_order)
      throw std::invalid_argument(
          path +
          " is compressed as a whole, so its images cannot be read in random order; unpack it "
          "(gunzip), or put it into a packed set with `shoal pack`");
  }
  std::mutex one_unpacked;  // each unpacked file may need 4 GiB of memory
  const std::string kind = "tfrecord " + keys.image + " " + keys.label + " " + keys.class_name +
                           " " + keys.name + (keys.unlabeled ? " unlabelled" : "");
  std::vector<Scan> scans = scan_files(kind, files, options, [&](const File& file) {
    if (packing_of(file) != Packing::whole_file) return TfRecordScan(file, keys).run();
    const std::lock_guard lock(one_unpacked);
    return TfRecordScan(*inflate_file(file), keys).run();
  });
  shift_labels(files, first_label(keys, scans, options), scans);
  Catalogue catalogue = options.unlabeled ? catalogue_unlabeled(scans)
                                          : catalogue_by_label(files, scans, options.classes);
  return std::make_shared<TfRecordDataset>(std::move(files), std::move(catalogue),
                                           std::move(packed), keys, options.reads);
}

}  // namespace shoal::data
