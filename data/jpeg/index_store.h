#pragma once
// Stores the seek indexes (seek_index.h) of a dataset's JPEGs in the cache folder. With them, the
// decoder decodes only the needed parts of images from the second epoch on.
//
// Each process appends to its own pair of files (N.seek: records; N.places: their offsets) and
// reads the files of all processes. A record identifies its image by sample number, length, and a
// hash of the first and last bytes. find() ignores damaged records and records of other images; the
// caller can then add() a new one. Does not store an index whose record would be larger than 4 % of
// the image. The constructor removes files if more than half of their records are stale: replaced
// by a newer record, or of a sample that the dataset does not have. It keeps files that another
// process is writing.

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/file/descriptor.h"
#include "data/jpeg/seek_index.h"

namespace shoal::data::jpeg {

class IndexStore {
 public:
  // Creates `folder` if it is missing, and removes stale files. `samples`: number of images in the
  // dataset. After a write error, calls `warning` once, in the thread that failed to write, and
  // stores no more indexes; stored ones can still be read. `warning` must not call functions of
  // this object.
  IndexStore(std::string folder, int64_t samples,
             std::function<void(const std::string&)> warning = {});
  ~IndexStore();
  IndexStore(const IndexStore&) = delete;
  IndexStore& operator=(const IndexStore&) = delete;

  // Writes buffered records to disk, and reads the offsets of all new records. Until then, find()
  // does not see new records, even those of this process. Thread-safe.
  void refresh();

  // Hint: asks the system to prefetch the stored indexes of the samples [first, first + count).
  // Returns the number of these samples that have one. Thread-safe.
  int64_t will_read(int64_t first, int64_t count) const;

  // unwanted: do not add() the index. It is too large, was already added, or cannot be written.
  enum class Answer { found, unknown, unwanted };

  // Reads the index of `sample` into `index`; clears `index` unless it returns Answer::found.
  // `bytes`: the encoded image. Thread-safe.
  Answer find(int64_t sample, std::span<const uint8_t> bytes, SeekIndex& index) const;

  // Stores `index`, unless it is too large. `index` must cover the whole image. `bytes`: the
  // encoded image. Buffers the record until the buffer is full or refresh() is called, then writes
  // it to disk. Thread-safe.
  void add(int64_t sample, std::span<const uint8_t> bytes, const SeekIndex& index);

 private:
  struct Slot {
    uint64_t offset = 0;
    uint32_t length = 0;  // bytes of the record; 0: none; kUnwanted, kWaiting: see index_store.cpp
    uint32_t file = 0;
  };
  struct File {
    std::string records;  // path of N.seek; empty: another process has removed the file
    Descriptor file;
    uint64_t places_read = 0;  // bytes of N.places read so far
  };

  struct Found {
    Slot slot;
    int descriptor = -1;  // of the file with the record; -1: none
    bool stores = false;  // whether new records can be stored
  };
  Found look_up(int64_t sample) const;  // takes the mutex

  void open_own();
  bool remove_stale();
  bool remove(const std::string& records);
  void open_others();
  void read_new_places(uint32_t file);
  void write_waiting();
  void give_up(const std::string& what, int error);

  std::string folder_;
  std::function<void(const std::string&)> warning_;
  std::vector<File> files_;
  std::vector<Slot> slots_;

  Descriptor records_, places_;  // this process's own files
  std::string own_;              // path of `records_`
  uint64_t end_ = 0;             // size of N.seek including buffered records
  std::string waiting_records_, waiting_places_;
  mutable std::mutex mutex_;
};

}  // namespace shoal::data::jpeg
