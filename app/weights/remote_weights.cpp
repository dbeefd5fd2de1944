#include "app/weights/remote_weights.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "base/nearest.h"
#include "base/secrets.h"
#include "base/text.h"

namespace shoal::app {
namespace {

constexpr const char* kHexDigits = "0123456789abcdefABCDEF";
constexpr size_t kLeastDigits = 8;  // shortest accepted SHA-256 prefix
constexpr size_t kAllDigits = 64;   // in a complete SHA-256
constexpr size_t kMaxName = 200;    // bytes; leaves room for ".NAME.part" within 255 bytes

bool is_digest(const std::string& text) {
  return text.size() >= kLeastDigits && text.size() <= kAllDigits &&
         text.find_first_not_of(kHexDigits) == text.npos;
}

// Whether eight digits are a padded number, such as the step in the name of a checkpoint, or a date
// from 1900 to 2099, such as 20231015 or 15102023.
bool is_number_or_date(const std::string& digits) {
  if (digits.find_first_not_of("0123456789") != digits.npos) return false;
  const auto is_year = [](const std::string& year) { return year >= "1900" && year <= "2099"; };
  return digits[0] == '0' || is_year(digits.substr(0, 4)) || is_year(digits.substr(4));
}

std::string name_in(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Whether all parts of a path are safe file names. Refuses "", ".", "..", names that are too long,
// and names with blanks, backslashes or characters that printable() escapes.
bool is_clean(const std::vector<std::string>& parts) {
  return std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
    return !part.empty() && part != "." && part != ".." && part.size() <= kMaxName &&
           printable(part) == part && part.find_first_of(" \\") == part.npos;
  });
}

RemoteFile remote_file(const std::string& url) {
  const auto bad = [&](const std::string& why) {
    throw UserError("--weights " + masked(url) + ": " + why);
  };
  const size_t hash = std::min(url.find('#'), url.size());
  const std::string plain = url.substr(0, hash);
  RemoteFile file{plain, {}};
  const size_t host = plain.find("://") + 3, end = std::min(plain.find('?'), plain.size());
  const size_t slash = std::min(plain.find('/', host), end);
  std::string address = plain.substr(host, slash - host);
  address.erase(0, address.rfind('@') + 1);
  std::vector<std::string> parts = split(plain.substr(slash, end - slash), '/');
  if (!parts.empty()) parts.erase(parts.begin());  // the empty part before the first slash
  if (parts.empty() || plain[end - 1] == '/') bad("the URL names no file");
  parts.insert(parts.begin(), {lower(plain.substr(0, host - 3)), lower(address)});
  if (!is_clean(parts)) bad("the URL is not well-formed");
  file.sha256 = digest_in_name(parts.back());
  if (hash < url.size()) {
    const std::string fragment = url.substr(hash + 1), prefix = "sha256=";
    file.sha256 = fragment.substr(std::min(prefix.size(), fragment.size()));
    if (!fragment.starts_with(prefix) || !is_digest(file.sha256))
      bad("after #, only sha256=HEX with 8 to 64 digits can follow");
  }
  if (end < plain.size()) parts.back().insert(0, hex(hash_bytes(plain.substr(end))) + "-");
  file.cached = joined(parts, "/");
  return file;
}

[[noreturn]] void unknown(const std::string& what) {
  const std::string near = nearest_weights(what);
  throw UserError("--weights " + what + ": unknown name; " +
                  (near.empty() ? "" : "did you mean " + near + "? ") +
                  "`shoal weights` lists the known ones");
}

// Returns the row of torchvision:NAME[/VERSION]. Also accepts torchvision's own spellings, such as
// ResNet50_Weights.IMAGENET1K_V2.
const KnownWeights& torchvision_row(const std::string& what) {
  std::string name = lower(what);
  if (const size_t at = name.find("_weights."); at != name.npos) name.replace(at, 9, "/");
  for (const char* word : {"imagenet1k_", "/default"})
    if (const size_t at = name.find(word); at != name.npos)
      name.erase(at, std::string(word).size());
  const auto& rows = known_weights();
  const auto found = std::find_if(rows.rbegin(), rows.rend(), [&](const KnownWeights& row) {
    return row.is_torchvision() && (lower(row.name) == name || "torchvision:" + row.model == name);
  });
  if (found == rows.rend()) unknown(what);
  return *found;
}

RemoteWeights hugging_face(const std::string& what, std::string repository,
                           const WeightsServers& servers) {
  RemoteWeights weights;
  weights.from_hugging_face = true;
  std::vector<std::string> parts = split(repository, '/');
  if (parts.size() < 2 || repository.ends_with('/') || !is_clean(parts) ||
      repository.find_first_of("?#%:") != repository.npos)
    throw UserError("--weights " + what + ": write hf:OWNER/NAME or hf:OWNER/NAME/FILE");
  std::string revision = "main";
  if (const size_t at = parts[1].find('@'); at != parts[1].npos) {
    revision = parts[1].substr(at + 1);
    parts[1].erase(at);
  }
  repository = parts[0] + "/" + parts[1];
  std::vector<std::string> names = {"model.safetensors", "pytorch_model.bin"};
  if (parts.size() > 2) names = {joined({parts.begin() + 2, parts.end()}, "/")};
  for (const std::string& name : names)
    weights.files.push_back(
        remote_file(servers.hugging_face + "/" + repository + "/resolve/" + revision + "/" + name));
  for (const KnownWeights& row : known_weights())
    if (row.file == repository) weights.known = &row;
  return weights;
}

RemoteWeights timm(const std::string& what, const WeightsServers& servers) {
  const std::string name = what.substr(what.find(':') + 1);
  const auto& rows = known_weights();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const KnownWeights& row) {
    return row.name == what || row.name.starts_with(what + ".");
  });
  // timm:NAME.TAG needs no row, because its repository on Hugging Face is timm/NAME.TAG.
  if (found == rows.end() && (name.find('.') == name.npos || name.find('/') != name.npos))
    unknown(what);
  if (found != rows.end()) return hugging_face(what, found->file, servers);
  RemoteWeights weights = hugging_face(what, "timm/" + name, servers);
  const std::string network = what.substr(0, what.find('.') + 1);
  for (const KnownWeights& row : rows)
    if (row.name.starts_with(network))
      weights.known_tags.push_back(row.name.substr(network.size()));
  return weights;
}

}  // namespace

std::string digest_in_name(const std::string& path) {
  const std::string file = name_in(path);
  const size_t dash = file.rfind('-');
  if (dash == file.npos) return "";
  const std::string digits = file.substr(dash + 1, file.find('.', dash) - dash - 1);
  const bool is_one =
      is_digest(digits) && (digits.size() == kLeastDigits || digits.size() == kAllDigits);
  return is_one && !is_number_or_date(digits) ? digits : "";
}

std::optional<RemoteWeights> remote_weights(const std::string& what,
                                            const WeightsServers& servers) {
  if (what.starts_with("torchvision:")) {
    const KnownWeights& row = torchvision_row(what);
    return RemoteWeights{{remote_file(servers.torchvision + "/" + row.file)}, &row};
  }
  if (what.starts_with("timm:")) return timm(what, servers);
  if (what.starts_with("hf:")) return hugging_face(what, what.substr(3), servers);
  if (lower(what).starts_with("http://") || lower(what).starts_with("https://"))
    return RemoteWeights{{remote_file(what)}, find_known_weights(what)};
  if (what.find("://") != what.npos)
    throw UserError("--weights " + masked(what) +
                    ": only http:// and https:// can be downloaded; copy the file to this machine");
  return std::nullopt;
}

const KnownWeights* first_weights_of(const std::string& model) {
  const auto& rows = known_weights();
  const auto found = std::ranges::find(rows, model, &KnownWeights::model);
  return found == rows.end() ? nullptr : &*found;
}

std::string nearest_weights(const std::string& what) {
  const size_t colon = what.find(':');
  const std::string model =
      colon == what.npos ? what : what.substr(0, what.find_first_of("/.", colon)).substr(colon + 1);
  // If `model` is a network of shoal, suggests its weights, even if `what` names another publisher.
  if (const KnownWeights* const row = first_weights_of(lower(model)))
    return row->name.substr(0, row->name.find_first_of("/."));
  std::vector<std::string> names;
  for (const KnownWeights& row : known_weights()) {
    names.push_back(row.name.substr(0, row.name.find_first_of("/.")));
    names.push_back(row.name);
  }
  return nearest(what.find(':') == what.npos ? "torchvision:" + what : what, names);
}

const KnownWeights* find_known_weights(const std::string& what) {
  const bool is_url = what.find("://") != what.npos;
  const std::string path = is_url ? what.substr(0, what.find_first_of("?#")) : what;
  for (const KnownWeights& row : known_weights())
    if (row.is_torchvision() && row.file == name_in(path)) return &row;
  if (is_url) return nullptr;
  const auto remote = remote_weights(what);
  return remote ? remote->known : nullptr;
}

}  // namespace shoal::app
