#include "app/commands/inputs/shared_images.h"

#include "base/format/counted.h"
#include "base/log.h"

namespace shoal::app {
namespace {

constexpr size_t kShown = 10;  // number of pairs that are logged

}  // namespace

void hash_images(const data::Fingerprints& images, int threads) {
  images.complete(threads, [](int64_t done) { log::status(strf("comparing images: %ld", done)); });
  log::status("");
}

NamePairs report_shared(const data::Fingerprints& first, const data::Fingerprints& second,
                        const std::string& what, int threads) {
  hash_images(first, threads);
  hash_images(second, threads);
  if (const int64_t missing = first.without_hash() + second.without_hash(); missing > 0)
    log::warning(counted(missing, "image") + " of " + what +
                 " cannot be decoded and could not be compared");
  log::status("comparing images");
  data::Fingerprints::hash_pixels_of_shared(first, second, threads);
  log::status("");
  NamePairs names;
  for (const auto& [one, other] : data::shared_images(first, second))
    names.emplace_back(first.name(one), second.name(other));
  if (names.empty()) {
    log::info(what + " share no image");
    return names;
  }
  log::warning(what + " share " + counted(names.size(), "image") + ":");
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    log::warning("  " + names[i].first + " = " + names[i].second);
  if (names.size() > kShown)
    log::warning(strf("  and %zu more; --json prints all", names.size() - kShown));
  return names;
}

}  // namespace shoal::app
