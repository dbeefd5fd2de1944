// shoal check: decodes all images of a dataset and names what is wrong with them.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "app/commands/commands.h"
#include "app/commands/inputs/opening.h"
#include "app/commands/printable_row.h"
#include "app/commands/session.h"
#include "app/launch/machine.h"
#include "app/platform/failure.h"
#include "app/platform/signals.h"
#include "base/format/counted.h"
#include "base/json.h"
#include "base/log.h"
#include "base/now.h"
#include "data/loader/balance.h"
#include "data/pack/check_dataset.h"

namespace shoal::app {
namespace {

using Findings = nlohmann::ordered_json;

constexpr int64_t kShownFindings = 10;  // rows of a list in the terminal
constexpr int64_t kFewImages = 10;      // classes with fewer images are reported

// What `shoal check` prints: rows at once, or one JSON object at the end.
struct CheckReport {
  bool as_json = false;
  Findings json = Findings::object();
  std::map<std::string, int64_t> totals;  // kind of problem → number of problems
  int64_t images = 0;
  double seconds = 0;  // time of decoding

  // Prints a row that begins with `word`. Does nothing if as_json.
  void row(std::string word, const std::string& text) const {
    word.resize(12, ' ');
    if (!as_json) log::line(printable_row(word + text));
  }
};

// A list of problems of one kind. Without --json, prints the first ones at once and stores none,
// because there may be millions. With --json, stores all and prints none.
class FindingList {
 public:
  // `word`: first word of each row.
  FindingList(CheckReport& report, const char* word) : report_(report), word_(word) {}

  void add(const std::string& text, Findings item) {
    if (report_.as_json) items_.push_back(std::move(item));
    if (++count_ <= kShownFindings) report_.row(word_, text);
  }
  // Call after the last add(). Stores the list in `json`[`key`]. If `kind` is not empty, adds the
  // number of problems to totals[`kind`].
  void end(Findings& json, const char* key, const std::string& kind = "") {
    if (count_ > kShownFindings)
      report_.row(word_, strf("%ld more; --json prints all", count_ - kShownFindings));
    if (!kind.empty()) report_.totals[kind] += count_;
    json[key] = std::move(items_);
  }

 private:
  CheckReport& report_;
  const char* word_;
  int64_t count_ = 0;
  Findings items_ = Findings::array();
};

// An opened split.
struct CheckedSplit {
  CheckedSplit(const OpenRequest& request, const Classes& known)
      : split(request.split),
        images(open_listed(request, known), data::Fingerprints::Of::pixels),
        counts(data::class_counts(images)) {}

  const std::string& class_of(int64_t sample) const {
    return images.classes()[static_cast<size_t>(images.label(sample))];
  }
  // Returns the names of the classes that have images.
  std::set<std::string> used_classes() const {
    std::set<std::string> names;
    for (size_t c = 0; c < counts.size(); ++c)
      if (counts[c] > 0) names.insert(images.classes()[c]);
    return names;
  }

  const Split& split;
  const data::Fingerprints images;
  const std::vector<int64_t> counts;  // number of images of each class
};

std::string text_of(const data::Size& size) {
  return strf("%ldx%ld", size.width, size.height);
}

Findings json_of(const data::Size& size) {
  return {size.width, size.height};
}

void report_classes(CheckReport& report, Findings& json, const CheckedSplit& split) {
  const std::vector<std::string>& names = split.images.classes();
  const auto [least, most] = std::ranges::minmax_element(split.counts);
  const auto described = [&](auto count) {
    return counted(*count, "image") + " ('" +
           names[static_cast<size_t>(count - split.counts.begin())] + "')";
  };
  report.row("classes", *least == *most ? counted(*least, "image") + " each"
                                        : described(least) + " to " + described(most));
  std::map<std::string, int64_t> by_name;
  FindingList few(report, "class");
  for (size_t c = 0; c < names.size(); ++c) {
    const int64_t count = split.counts[c];
    by_name[names[c]] = count;
    if (count < kFewImages)
      few.add("'" + names[c] + "' has only " + counted(count, "image"),
              {{"class", names[c]}, {"images", count}});
  }
  json["classes"] = by_name;
  few.end(json, "few_images");
}

void report_formats(CheckReport& report, Findings& json, const data::DatasetCheck& found) {
  std::vector<std::string> formats;
  for (const auto& [format, count] : found.formats)
    formats.push_back(std::to_string(count) + " " + format);
  std::string text = formats.empty() ? "no readable image" : joined(formats);
  if (found.gray > 0) text += strf("; %ld gray", found.gray);
  if (found.cmyk > 0) text += strf("; %ld CMYK", found.cmyk);
  report.row("formats", text);
  if (!formats.empty())
    report.row("pixels", text_of(found.smallest) + " to " + text_of(found.largest) + ", median " +
                             text_of(found.median));
  json["formats"] = found.formats;
  json["gray"] = found.gray;
  json["cmyk"] = found.cmyk;
  json["smallest"] = json_of(found.smallest);
  json["median"] = json_of(found.median);
  json["largest"] = json_of(found.largest);
}

// Reports the pairs of equal images: an image of `a` and an image of `b` with the same pixels. Then
// reports the pairs whose classes differ. `a` and `b` may be the same split.
void report_equal_images(CheckReport& report, Findings& json, const CheckedSplit& a,
                         const CheckedSplit& b) {
  const bool same = &a == &b;
  auto pairs = data::shared_images(a.images, b.images);
  if (same) std::erase_if(pairs, [](const auto& pair) { return pair.first == pair.second; });
  FindingList equal(report, same ? "duplicate" : "shared"), labels(report, "label");
  for (const auto& [i, j] : pairs)
    equal.add(a.images.name(i) + " = " + b.images.name(j), {a.images.name(i), b.images.name(j)});
  equal.end(json, same ? "duplicates" : "shared", same ? "duplicate" : "shared image");
  for (const auto& [i, j] : pairs) {
    const std::string &one = a.class_of(i), &other = b.class_of(j);
    if (one == other) continue;
    labels.add(a.images.name(i) + " (" + one + ") = " + b.images.name(j) + " (" + other + ")",
               {{"images", {a.images.name(i), b.images.name(j)}}, {"classes", {one, other}}});
  }
  labels.end(json, "contradictions", "contradicting label");
}

// Decodes the images of a split. Reports their classes, formats, sizes and problems.
void report_split(CheckReport& report, const CheckedSplit& split, int threads) {
  const std::string &name = split.split.name, &source = split.split.location.text;
  const int64_t images = split.images.size();
  const double start = now();
  const auto found = data::check_dataset(split.images, threads, [&](int64_t done) {
    log::status(strf("decoding the %s images: %ld of %ld", name.c_str(), done, images));
  });
  log::status("");
  report.seconds += now() - start;
  Findings json = {{"source", source}, {"images", images}};
  report.row(name, counted(images, "image") + " of " +
                       counted(split.images.classes().size(), "class") + " in " + source);
  report.images += images;
  report_classes(report, json, split);
  report_formats(report, json, found);
  FindingList damaged(report, "damaged");
  for (const auto& [sample, reason] : found.damaged)
    damaged.add(split.images.name(sample) + ": " + reason,
                {{"image", split.images.name(sample)}, {"reason", reason}});
  damaged.end(json, "damaged", "damaged image");
  report_equal_images(report, json, split, split);
  report.json[name] = std::move(json);
}

// Reports the classes that have images in the split `in` but none in the split `other`.
void report_class_difference(CheckReport& report, const CheckedSplit& in,
                             const CheckedSplit& other) {
  const std::set<std::string> names = in.used_classes(), others = other.used_classes();
  const char* const effect = in.split.name == "val" ? "; training refuses such images" : "";
  FindingList missing(report, "class");
  for (const std::string& name : names)
    if (!others.contains(name))
      missing.add("'" + name + "' is only in " + in.split.name + effect, name);
  missing.end(report.json, ("only_in_" + in.split.name).c_str());
}

void report_total(CheckReport& report) {
  const double rate = static_cast<double>(report.images) / report.seconds;
  std::vector<std::string> problems;
  for (const auto& [kind, count] : report.totals)
    if (count > 0) problems.push_back(counted(count, kind));
  report.row("total", strf("%s, %.0f images/s: ", counted(report.images, "image").c_str(), rate) +
                          (problems.empty() ? "all readable, no duplicates" : joined(problems)));
  report.json["images"] = report.images;
  report.json["damaged"] = report.totals["damaged image"];
  report.json["images_per_sec"] = rate;
}

// Throws UserError unless at least one split has images that can be checked.
void check_places(const train::Job& job, const DataPlaces& places) {
  check_data_exists(job, places);
  check_source_options(job, places, /*with_train=*/true);
  for (const Split* split : {&places.train, &places.val})
    if (split->location.is_pipe())
      throw UserError(split->option + " " + split->location.text +
                      ": a pipe can be read only once; give the images as files");
  if (places.train.found() || places.val.found()) return;
  if (job.data.empty())
    throw UserError(
        "no images given: add --data DIR (containing train/ or val/), --train PATH or "
        "--val PATH");
  check_data_has_entries(job.data, /*trains=*/true);
  throw UserError("--data: " + job.data + " contains no " + data::split_places("train") +
                  " and no " + data::split_places("val") +
                  "; if it is a single set of images, use --train " + job.data);
}

}  // namespace

int check_command(const Arguments& arguments) {
  begin(arguments.job, dist::Env{});
  install_interruption_signals();
  train::Job job = arguments.job;
  if (!job.cache_dir) job.cache_dir = "";  // this command has no --output folder for a cache
  const DataPlaces places = find_data(job);
  check_places(job, places);
  for (const Split* split : {&places.train, &places.val})
    if (!split->found() && !job.data.empty())
      log::info("--data " + job.data + " has no " + split->name + " images to check");
  const dist::Communicator alone = dist::connect(dist::Env{});
  std::optional<CheckedSplit> train, val;
  if (places.train.found()) train.emplace(OpenRequest{job, places.train, alone}, Classes{});
  if (places.val.found())
    val.emplace(OpenRequest{job, places.val, alone}, train ? train->images.classes() : Classes{});
  CheckReport report;
  report.as_json = arguments.json;
  const int threads = job.workers.value_or(usable_processors());
  for (const auto* split : {&train, &val})
    if (*split) report_split(report, **split, threads);
  if (train && val) {
    report_class_difference(report, *train, *val);
    report_class_difference(report, *val, *train);
    report_equal_images(report, report.json, *train, *val);
  }
  report_total(report);
  if (arguments.json) log::line(json_text(report.json));
  return report.totals["damaged image"] > 0 ? kFailure : kOk;
}

}  // namespace shoal::app
