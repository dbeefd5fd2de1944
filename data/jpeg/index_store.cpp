// File format. N.seek is a sequence of records: a Record struct, then the packed index
// (index_codec.h). N.places contains a Place for each record. The process that has locked N.places
// owns both files. Numbers are little-endian.
//
// Both files grow while other processes read them, so write_whole(), which replaces a whole file,
// cannot write them. A checksum in each record detects records that are incomplete after a crash.
//
// Only the owner of N.places removes the two files. It removes N.seek first: otherwise, another
// process could create and lock a new N.places, and would then lose its N.seek. Processes that have
// opened a removed N.seek can still read its records.
#include "data/jpeg/index_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/file/folder.h"
#include "base/hash.h"
#include "data/jpeg/index_codec.h"

namespace shoal::data::jpeg {
namespace {

namespace fs = std::filesystem;

constexpr char kRecordsExtension[] = ".seek", kPlacesExtension[] = ".places";
constexpr size_t kWriteAt = size_t{1} << 18;  // writes the buffer when it has this many bytes
constexpr size_t kMaxShare = 25;              // a record is at most 1/25 as large as its image
constexpr uint32_t kMaxRecord = 1u << 28, kUnwanted = UINT32_MAX, kWaiting = UINT32_MAX - 1;

struct Record {
  uint64_t sample = 0, image = 0;  // `image`: see fingerprint()
  uint32_t length = 0;             // bytes of the packed index that follows
  uint32_t check = 0;              // hash of the other fields and the packed index
};
static_assert(sizeof(Record) == 24);

struct Place {
  uint64_t sample = 0, offset = 0;  // `offset`: of the sample's record in N.seek
  uint32_t length = 0, unused = 0;
};
constexpr int64_t kEntry = sizeof(Place);
static_assert(kEntry == 24);

uint64_t fingerprint(std::span<const uint8_t> bytes) {
  const auto part = static_cast<int64_t>(std::min<size_t>(bytes.size(), 1024));
  return combine(
      combine(hash_bytes(bytes.data(), part), hash_bytes(bytes.data() + bytes.size() - part, part)),
      bytes.size());
}

uint32_t check_of(const Record& record, const void* packed) {
  uint64_t hash = combine(combine(record.sample, record.image), record.length);
  hash = combine(hash, hash_bytes(packed, record.length));
  return static_cast<uint32_t>(hash >> 32);
}

bool reads_all(int descriptor, uint64_t offset, void* to, size_t bytes) {
  return read_at(descriptor, to, bytes, offset) == static_cast<int64_t>(bytes);
}

bool append(int descriptor, const std::string& text) {
  const int error = write_all(descriptor, text.data(), text.size());
  if (error != 0) errno = error;
  return error == 0;
}

std::string places_of(const std::string& records) {
  return fs::path(records).replace_extension(kPlacesExtension).string();
}

}  // namespace

IndexStore::IndexStore(std::string folder, int64_t samples,
                       std::function<void(const std::string&)> warning)
    : folder_(std::move(folder)),
      warning_(std::move(warning)),
      slots_(static_cast<size_t>(samples)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error)
    give_up("cannot create ", error.value());
  else
    open_own();
  refresh();
  if (!remove_stale()) return;
  if (!records_.is_open()) open_own();
  files_.clear();
  std::ranges::fill(slots_, Slot());
  refresh();
}

IndexStore::~IndexStore() {
  write_waiting();
  const int records = records_.close(), places = places_.close();
  if (warning_ && (records != 0 || places != 0))
    warning_("cannot write to " + folder_ + " (" +
             std::generic_category().message(records != 0 ? records : places) +
             "): the next run may have to compute some seek indexes again");
}

// Opens this process's files N.seek and N.places, where N is the first number whose files no other
// process has locked. Does not use FileLock, which would write process and host into the file.
void IndexStore::open_own() {
  constexpr int kMaxWriters = 4096;
  const int flags = O_WRONLY | O_CREAT | O_APPEND;
  for (int number = 0; number < kMaxWriters; ++number) {
    const std::string stem = folder_ + "/" + std::to_string(number);
    places_ = open_file((stem + kPlacesExtension).c_str(), flags, 0644);
    if (!places_.is_open()) break;
    if (::flock(places_.number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return give_up("cannot lock files in ", errno);
      places_.close();
      continue;
    }
    if (is_removed(places_.number())) {  // its owner has just removed it
      places_.close();
      continue;
    }
    own_ = stem + kRecordsExtension;
    records_ = open_file(own_.c_str(), flags, 0644);
    struct stat records {
    }, places{};
    if (!records_.is_open() || ::fstat(records_.number(), &records) != 0 ||
        ::fstat(places_.number(), &places) != 0)
      break;
    end_ = static_cast<uint64_t>(records.st_size);
    // A killed process may have left an incomplete entry at the end.
    if (::ftruncate(places_.number(), places.st_size / kEntry * kEntry) != 0) break;
    return;
  }
  give_up("cannot write to ", errno);
}

// Removes files whose records are mostly stale. If this process's own files are among them, closes
// them first. Returns whether any files were removed or closed.
bool IndexStore::remove_stale() {
  if (!records_.is_open()) return false;
  std::vector<uint64_t> current(files_.size());
  for (const Slot& slot : slots_)
    if (slot.length != 0) ++current[slot.file];
  bool removed = false;
  for (size_t i = 0; i < files_.size(); ++i)
    if (2 * current[i] < files_[i].places_read / kEntry) removed |= remove(files_[i].records);
  return removed;
}

// Removes N.seek (`records`) and N.places unless another process owns them. If this process owns
// them, closes them first. Returns whether files were removed or closed.
bool IndexStore::remove(const std::string& records) {
  const std::string places = places_of(records);
  const bool own = records == own_;
  Descriptor lock;
  if (own) {
    records_.close();
    lock = std::move(places_);
  } else {
    lock = open_file(places.c_str(), O_RDWR);
    if (!lock.is_open() || ::flock(lock.number(), LOCK_EX | LOCK_NB) != 0) return false;
  }
  std::error_code error;
  const bool removed =
      !is_removed(lock.number()) && fs::remove(records, error) && fs::remove(places, error);
  return own || removed;
}

void IndexStore::give_up(const std::string& what, int error) {
  const std::string reason = std::generic_category().message(error);
  records_.close();
  places_.close();
  waiting_records_.clear();
  waiting_places_.clear();
  if (warning_)
    warning_(what + folder_ + " (" + reason +
             "): no more seek indexes are stored, so decoding is slower");
}

void IndexStore::refresh() {
  const std::lock_guard lock(mutex_);
  write_waiting();
  open_others();
  // If several files have a record of a sample, uses the newest file: the sample numbers of images
  // may have changed since the older files were written.
  std::vector<std::pair<fs::file_time_type, uint32_t>> by_time;
  for (uint32_t file = 0; file < files_.size(); ++file) {
    std::error_code error;
    by_time.emplace_back(fs::last_write_time(files_[file].records, error), file);
  }
  std::ranges::sort(by_time);
  for (const auto& [time, file] : by_time) read_new_places(file);
}

void IndexStore::open_others() {
  std::error_code error;
  for (const auto& entry : entries_of(folder_, error)) {
    const std::string path = entry.path().string();
    if (entry.path().extension() != kRecordsExtension) continue;
    const auto known = std::ranges::find(files_, path, &File::records);
    if (known != files_.end() && !is_removed(known->file.number())) continue;
    if (known != files_.end()) known->records.clear();  // slots may still use the descriptor
    Descriptor opened = open_file(path.c_str(), O_RDONLY);
    if (opened.is_open()) files_.push_back({path, std::move(opened), 0});
  }
}

// Reads the entries that were added to N.places since the last call.
void IndexStore::read_new_places(uint32_t number) {
  File& file = files_[number];
  if (file.records.empty()) return;
  const Descriptor added = open_file(places_of(file.records).c_str(), O_RDONLY);
  if (!added.is_open()) return;
  std::vector<Place> places(size_t{1} << 14);
  struct stat info {};
  while (::fstat(added.number(), &info) == 0) {
    const auto size = static_cast<uint64_t>(info.st_size);
    const uint64_t count =
        std::min<uint64_t>((size - std::min(size, file.places_read)) / kEntry, places.size());
    if (count == 0 || !reads_all(added.number(), file.places_read, places.data(), count * kEntry))
      break;
    for (uint64_t i = 0; i < count; ++i) {
      const Place& place = places[i];
      if (place.sample < slots_.size() && place.length <= kMaxRecord)
        slots_[place.sample] = {place.offset, place.length, number};
    }
    file.places_read += count * kEntry;
  }
}

void IndexStore::write_waiting() {
  if (!records_.is_open() || waiting_records_.empty()) return;
  // Writes the records first: other processes may read a record as soon as they find its place.
  if (!append(records_.number(), waiting_records_) || !append(places_.number(), waiting_places_))
    return give_up("cannot write to ", errno);
  waiting_records_.clear();
  waiting_places_.clear();
}

int64_t IndexStore::will_read(int64_t first, int64_t count) const {
  int64_t kept = 0;
  for (int64_t sample = first; sample < first + count; ++sample) {
    const Found found = look_up(sample);
    if (found.descriptor < 0) continue;
    ++kept;
    ::posix_fadvise(found.descriptor, static_cast<off_t>(found.slot.offset), found.slot.length,
                    POSIX_FADV_WILLNEED);
  }
  return kept;
}

IndexStore::Found IndexStore::look_up(int64_t sample) const {
  const std::lock_guard lock(mutex_);
  const Slot& slot = slots_[static_cast<size_t>(sample)];
  const bool kept = slot.length != 0 && slot.length < kWaiting;
  return {slot, kept ? files_[slot.file].file.number() : -1, records_.is_open()};
}

IndexStore::Answer IndexStore::find(int64_t sample, std::span<const uint8_t> bytes,
                                    SeekIndex& index) const {
  index.clear();
  const auto [slot, descriptor, stores] = look_up(sample);
  const Answer missing = stores ? Answer::unknown : Answer::unwanted;
  if (descriptor < 0) return slot.length >= kWaiting ? Answer::unwanted : missing;
  thread_local std::vector<uint8_t> memory;
  memory.resize(slot.length);
  Record record;
  if (slot.length < sizeof record ||
      !reads_all(descriptor, slot.offset, memory.data(), memory.size()))
    return missing;
  std::memcpy(&record, memory.data(), sizeof record);
  const std::span<const uint8_t> packed = std::span(memory).subspan(sizeof record);
  const bool good = record.sample == static_cast<uint64_t>(sample) &&
                    record.length == packed.size() && record.image == fingerprint(bytes) &&
                    record.check == check_of(record, packed.data()) && unpack_index(packed, index);
  if (!good) index.clear();
  return good ? Answer::found : missing;
}

void IndexStore::add(int64_t sample, std::span<const uint8_t> bytes, const SeekIndex& index) {
  const std::string packed = pack_index(index);
  if ((sizeof(Record) + packed.size()) * kMaxShare > bytes.size()) {
    const std::lock_guard lock(mutex_);
    slots_[static_cast<size_t>(sample)].length = kUnwanted;
    return;
  }
  Record record{static_cast<uint64_t>(sample), fingerprint(bytes),
                static_cast<uint32_t>(packed.size()), 0};
  record.check = check_of(record, packed.data());
  const std::lock_guard lock(mutex_);
  if (!records_.is_open()) return;
  slots_[static_cast<size_t>(sample)].length = kWaiting;
  const Place place{record.sample, end_, static_cast<uint32_t>(sizeof record + packed.size()), 0};
  waiting_places_.append(reinterpret_cast<const char*>(&place), sizeof place);
  waiting_records_.append(reinterpret_cast<const char*>(&record), sizeof record);
  waiting_records_ += packed;
  end_ += place.length;
  if (waiting_records_.size() >= kWriteAt) write_waiting();
}

}  // namespace shoal::data::jpeg
