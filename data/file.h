#pragma once
// A file that is read at any place.

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace shoal::data {

// Opening, examining or reading failed. The message names what, the path and the system's reason.
class FileFailure : public std::runtime_error {
 public:
  FileFailure(const char* what, const std::string& path, int error);
  const std::string& what_failed() const { return what_failed_; }  // "cannot read it: REASON"
  int error() const { return error_; }                             // errno

 private:
  std::string what_failed_;
  int error_;
};

// Equal stamps mean that the content is the same, unless somebody set the clock back.
struct FileStamp {
  int64_t bytes = 0, modified_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// Bytes that can be read at any place.
class Readable {
 public:
  virtual ~Readable() = default;
  // Reads up to `bytes` bytes from `offset` on into `to`; fewer only at the end.
  virtual int64_t read_at(uint64_t offset, void* to, int64_t bytes) const = 0;
};

// A piece of memory, which must outlive it.
class ReadableMemory : public Readable {
 public:
  explicit ReadableMemory(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  int64_t read_at(uint64_t offset, void* to, int64_t bytes) const override;

 private:
  std::span<const uint8_t> bytes_;
};

// How a file is read.
enum class Reads {
  seeking,  // only what is asked for
  // From the first place that is asked for everything, front to back, in pieces of 4 MiB, of which
  // two are held; what is asked for before these, on its own. For file systems that fetch ahead.
  forward,
  scattered  // as seeking, and what lies behind is not fetched ahead
};

// Open for reading as long as it lives. Every method may be called from any thread at the same
// time; all throw FileFailure.
class File : public Readable {
 public:
  explicit File(std::string path, Reads reads = Reads::seeking);
  // Takes `descriptor` over; `path` stands in messages only.
  File(int descriptor, std::string path);
  ~File() override;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  FileStamp stamp() const;
  bool is_regular() const;
  // All of it in memory, shared with other processes; empty where the file is. The caller unmaps it.
  std::span<const uint8_t> map() const;
  int64_t read_at(uint64_t offset, void* to, int64_t bytes) const override;
  // The system may fetch this part already. A hint; of no effect where reading is forward.
  void will_read(uint64_t offset, uint64_t bytes) const;
  const std::string& path() const { return path_; }

 private:
  class Window;  // of Reads::forward

  std::string path_;
  int descriptor_;
  std::unique_ptr<Window> window_;
};

// Reads a piece of which the file is known to have all. Throws DamagedImage where the disk cannot
// read this place, FileFailure for what concerns other places too, std::runtime_error when the file
// has become shorter.
void read_fully(const File& file, uint64_t offset, void* to, int64_t bytes);

// pread() until `bytes` are there or the file ends; `path` stands in the message of FileFailure.
int64_t read_from(int descriptor, const std::string& path, uint64_t offset, void* to,
                  int64_t bytes);

// The system may fetch the file already: a hint. Allocates nothing. Throws FileFailure.
void will_read_file(const std::string& path);

// Replaces `bytes` with the file and returns how long it is; reads nothing of one that is longer
// than `most`. Allocates nothing where `bytes` has the room. Throws FileFailure.
int64_t read_file(const std::string& path, int64_t most, std::vector<uint8_t>& bytes);

}  // namespace shoal::data
