#include "data/split.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "data/random.h"

namespace shoal::data {
namespace {

class Subset : public ForwardingDataset {
 public:
  Subset(std::shared_ptr<const Dataset> source, std::vector<int64_t> samples)
      : ForwardingDataset(std::move(source)), samples_(std::move(samples)) {}

  int64_t size() const override { return static_cast<int64_t>(samples_.size()); }

 private:
  int64_t inner_sample(int64_t sample) const override {
    return samples_[static_cast<size_t>(sample)];
  }

  std::vector<int64_t> samples_;  // indexes into the inner dataset
};

}  // namespace

std::string split_key(const std::string& class_name, const std::string& name) {
  const std::string_view all = name;
  // Searches from the innermost folder outwards, because outer folders may have the same name as
  // the class folder.
  for (size_t end = all.find_last_of("/:"); end != all.npos;) {
    const size_t before = end == 0 ? all.npos : all.find_last_of("/:", end - 1);
    const size_t begin = before == all.npos ? 0 : before + 1;
    std::string_view folder = all.substr(begin, end - begin);
    if (folder.ends_with(".tar") || folder.ends_with(".zip")) folder.remove_suffix(4);
    if (folder == class_name) return class_name + "/" + name.substr(end + 1);
    end = before;
  }
  const size_t slash = all.find_last_of('/', all.rfind(':'));
  return name.substr(slash == all.npos ? 0 : slash + 1);
}

std::string split_key_of_path(const std::string& class_name, const std::string& path) {
  const std::string key = split_key(class_name, path);
  return key.find('/') == key.npos ? path : key;
}

bool is_held_out(uint64_t key_hash, double share) {
  return static_cast<double>(key_hash >> 11) * 0x1p-53 < share;
}

std::shared_ptr<const Dataset> part_of(std::shared_ptr<const Dataset> all, Part part, double share,
                                       const LargestOnHosts& largest_on_hosts) {
  std::vector<uint64_t> hashes(static_cast<size_t>(all->size()));
  std::vector<uint64_t> largest(all->classes().size(), 0);  // largest hash of each class
  const auto largest_of = [&](int64_t i) -> uint64_t& {
    return largest[static_cast<size_t>(all->label(i))];
  };
  for (int64_t i = 0; i < all->size(); ++i) {
    const uint64_t hash = hashes[static_cast<size_t>(i)] = hash_bytes(all->key(i));
    largest_of(i) = std::max(largest_of(i), hash);
  }
  if (largest_on_hosts) largest_on_hosts(largest);
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < all->size(); ++i) {
    const uint64_t hash = hashes[static_cast<size_t>(i)];
    const bool held_out = is_held_out(hash, share) && hash < largest_of(i);
    if (held_out == (part == Part::validation)) samples.push_back(i);
  }
  return std::make_shared<Subset>(std::move(all), std::move(samples));
}

std::shared_ptr<const Dataset> portion_of(std::shared_ptr<const Dataset> all,
                                          const Portion& portion) {
  if (portion.all()) return all;
  // The images of each class, with the hash that ranks them.
  std::vector<std::vector<std::pair<uint64_t, int64_t>>> classes(all->classes().size());
  for (int64_t i = 0; i < all->size(); ++i) {
    const uint64_t rank = make_key(Purpose::portion, hash_bytes(all->key(i)), 0, 0);
    classes[static_cast<size_t>(all->label(i))].emplace_back(rank, i);
  }
  std::vector<int64_t> samples;
  for (auto& images : classes) {
    const auto number = static_cast<int64_t>(images.size());
    const int64_t part = std::llround(portion.fraction * static_cast<double>(number));
    int64_t taken = std::min(number, std::max<int64_t>(1, part));
    if (portion.per_class > 0) taken = std::min(taken, portion.per_class);
    std::sort(images.begin(), images.end());
    for (int64_t i = 0; i < taken; ++i) samples.push_back(images[static_cast<size_t>(i)].second);
  }
  std::sort(samples.begin(), samples.end());
  return std::make_shared<Subset>(std::move(all), std::move(samples));
}

}  // namespace shoal::data
