#pragma once
// The seek indexes of a dataset's JPEGs, kept in files beside other caches, so that from the second
// epoch on only the parts of images that are looked at are decoded.
//
// Each process appends to files of its own (N.seek: records; N.places: where they are) and reads
// everybody's. A record belongs to an image's
// place in the dataset, its length and a hash of its first and last bytes; whatever does not fit,
// or is damaged, is as if it were not there and is made anew. A record never takes more than 4 % of
// its image's bytes: images for which it would have none.

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "data/jpeg/seek_index.h"

namespace shoal::data::jpeg {

class IndexStore {
 public:
  // `folder` is made when it is missing. `samples`: images of the dataset. `warning` is told once
  // when nothing can be written; what is known can be used all the same.
  IndexStore(std::string folder, int64_t samples,
             std::function<void(const std::string&)> warning = {});
  ~IndexStore();
  IndexStore(const IndexStore&) = delete;
  IndexStore& operator=(const IndexStore&) = delete;

  // Writes what is waiting and takes notice of what others have written. Thread-safe.
  void refresh();

  // Tells the file system that the indexes of these images, of the dataset, will be read soon.
  // Returns how many of them are kept. Thread-safe.
  int64_t will_read(int64_t first, int64_t count) const;

  enum class Answer { found, unknown, unwanted };  // unwanted: it would take too much room

  // The index of the image `bytes`; empties `index` unless it is found. Thread-safe.
  Answer find(int64_t sample, std::span<const uint8_t> bytes, SeekIndex& index) const;

  // Keeps a whole index, unless it takes too much room. Thread-safe.
  void add(int64_t sample, std::span<const uint8_t> bytes, const SeekIndex& index);

 private:
  struct Slot {
    uint64_t offset = 0;
    uint32_t length = 0;  // 0: nothing known; kUnwanted: none is wanted
    uint32_t file = 0;
  };
  struct File {
    std::string records;  // its path
    int descriptor = -1;
    uint64_t noticed = 0;  // bytes of its list of places
  };

  struct Found {
    Slot slot;
    int descriptor = -1;  // of the file that holds the record; -1: there is none
  };
  Found look_up(int64_t sample) const;  // takes the mutex

  void open_own();
  void open_others();
  void take_notice(uint32_t file);
  void write_waiting();
  void give_up(const std::string& what);

  std::string folder_;
  std::function<void(const std::string&)> warning_;
  std::vector<File> files_;
  std::vector<Slot> slots_;

  int records_ = -1, places_ = -1;  // this process's, for appending
  uint64_t end_ = 0;                // bytes of its records, written or waiting
  std::string waiting_records_, waiting_places_;
  mutable std::mutex mutex_;
};

}  // namespace shoal::data::jpeg
