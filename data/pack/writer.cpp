#include "data/pack/writer.h"

#include <filesystem>
#include <set>
#include <stdexcept>

#include "base/file/file_lock.h"
#include "base/file/whole_file.h"
#include "base/hash.h"
#include "base/text.h"
#include "data/file.h"
#include "data/jpeg/turbo.h"
#include "data/pack/file_writer.h"
#include "data/pack/reader.h"
#include "data/pack/shards.h"

namespace shoal::data {

namespace {

namespace fs = std::filesystem;

// Returns a hash of the listing and of the images. For an image without a stored hash, uses the
// size and modification time of the file that contains it, because a file can be replaced without
// changing the listing.
uint64_t source_hash(const Dataset& source) {
  uint64_t hash = listing_hash(source, "");
  std::set<uint32_t> containers;
  for (int64_t i = 0; i < source.size(); ++i) {
    if (const uint64_t stored = source.stored_hash(i); stored != 0) {
      hash = combine(hash, stored);
      continue;
    }
    const auto place = source.file_place(i);
    if (place ? !containers.insert(place->file).second : source.encoded_bytes(i) >= 0) continue;
    if (const auto stamp = file_stamp(place ? std::string(place->path) : source.name(i)))
      hash = combine(combine(hash, static_cast<uint64_t>(stamp->bytes)),
                     static_cast<uint64_t>(stamp->modified_ns));
  }
  return hash;
}

// Returns a hash of everything that determines the content of a file. Only a call with the same
// hash may continue interrupted work. `source`: source_hash(). `first`: first sample of the file.
uint64_t request_of(uint64_t source, const PackOptions& o, int64_t first) {
  uint64_t hash =
      combine(combine(source, static_cast<uint64_t>(o.max_side)), static_cast<uint64_t>(o.quality));
  hash = combine(combine(hash, static_cast<uint64_t>(o.raw_share * 1e9)), o.index);
  if (!o.reading.empty()) hash = combine(hash, hash_bytes(o.reading));
  return combine(combine(hash, static_cast<uint64_t>(o.shard_bytes)), static_cast<uint64_t>(first));
}

[[noreturn]] void refuse_existing(const std::string& path) {
  throw std::invalid_argument(
      path + " already exists; choose another name, or replace it with --overwrite");
}

// Adds the counts of the finished file `pack` to `sum`.
void add(PackSummary& sum, const PackedDataset& pack) {
  sum.images += pack.size();
  sum.file_bytes += pack.file_bytes();
  for (int64_t i = 0; i < pack.size(); ++i) {
    const PackEntry& entry = pack.entry(i);
    sum.index_bytes += entry.index_bytes;
    ++sum.of(entry.kind);
  }
}

PackSummary write_shards(const Dataset& source, const std::string& folder,
                         const PackOptions& options, const PackProgress& progress,
                         const PackWarning& warning) {
  const uint64_t hash = source_hash(source);
  ShardList list(folder, request_of(hash, options, 0), options.overwrite);
  int64_t resumed = 0;
  for (int64_t i = 0; i < list.finished(); ++i) resumed += PackedDataset(list.path_of(i)).size();
  while (!list.whole() && list.next_sample() < source.size()) {
    const int64_t first = list.next_sample();
    const PackedFile file =
        write_pack_file(source, request_of(hash, options, first), list.path_of(list.finished()),
                        options, first, progress, warning);
    resumed += file.summary.resumed;
    if (file.summary.images == 0) break;  // only damaged images were left
    list.finish(file.next);
  }
  PackSummary sum;
  for (int64_t i = 0; i < list.finished(); ++i) {
    add(sum, PackedDataset(list.path_of(i)));
    remove_table(list.path_of(i));
  }
  sum.resumed = resumed;
  sum.damaged = source.size() - sum.images;
  list.close();
  return sum;
}

PackSummary write_locked(const Dataset& source, const std::string& path, const PackOptions& options,
                         const PackProgress& progress, const PackWarning& warning) {
  if (options.shard_bytes > 0) return write_shards(source, path, options, progress, warning);
  if (fs::is_directory(path))
    throw std::invalid_argument(
        path + " is a folder; choose a file name, or write several files with --shard-size");
  if (fs::exists(path) && !is_packed_set(path))
    throw std::invalid_argument(path +
                                " exists and is not a packed set, so --overwrite would not replace "
                                "it; choose another name, or remove it");
  const uint64_t request = request_of(source_hash(source), options, 0);
  if (fs::exists(path) && !options.overwrite) {
    if (PackedDataset(path).request() != hex(request)) refuse_existing(path);
    PackSummary sum;
    add(sum, PackedDataset(path));
    sum.resumed = sum.images;
    sum.damaged = source.size() - sum.images;
    remove_table(path);
    return sum;
  }
  return write_pack_file(source, request, path, options, 0, progress, warning).summary;
}

}  // namespace

PackSummary write_pack(const Dataset& source, const std::string& path, const PackOptions& options,
                       const PackProgress& progress, const PackWarning& warning) {
  std::string name = fs::absolute(path).lexically_normal().string();
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  create_folders(fs::path(name).parent_path());
  const FileLock lock(name + ".lock", path, "name", /*seconds=*/0);
  const LockFileRemoval removal(lock);
  return write_locked(source, path, options, progress, warning);
}

void require_same_pack(const Dataset& source, const std::string& path, const PackOptions& options) {
  if (!fs::exists(path) || (options.shard_bytes > 0 && !is_sharded_set(path))) return;
  const uint64_t asked = request_of(source_hash(source), options, 0);
  if (options.shard_bytes > 0) {
    [[maybe_unused]] const ShardList list(path, asked, false);  // throws if `path` has another set
    return;
  }
  if (!is_packed_set(path))
    throw std::invalid_argument(
        path + " exists and is not a packed set; choose another name, or remove it");
  const std::string request = PackedDataset(path).request();
  if (request == hex(asked)) return;
  if (request.empty())
    throw std::invalid_argument(path +
                                " was written by an earlier version that did not record its "
                                "arguments; remove it");
  throw std::invalid_argument(
      path +
      " contains a packed set made from another source, with other options or by an earlier "
      "version; choose another name, or remove it");
}

std::string pack_path(const std::string& name, const PackOptions& options) {
  return options.shard_bytes == 0 ? name + ".pack" : name;
}

}  // namespace shoal::data
