#include "base/secrets.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace shoal {
namespace {

constexpr std::string_view kMask = "***";
// A variable or setting is secret if its name, in lower case, contains one of these words.
constexpr std::string_view kWords[] = {"password",   "passwd",        "secret",    "token",
                                       "credential", "api_key",       "api-key",   "apikey",
                                       "access_key", "access-key",    "accesskey", "private_key",
                                       "signature",  "authorization", "passphrase"};

std::vector<std::string>& hidden() {
  static std::vector<std::string> values;
  return values;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
}

// Whether `c` can be part of a token: base64, its URL-safe form, and the dots of JSON web tokens.
bool is_token(char c) {
  return is_word(c) || c == '.' || c == '/' || c == '+' || c == '=';
}

bool ends_value(char c) {
  return std::isspace(static_cast<unsigned char>(c)) ||
         std::string_view("'\",;)}]").find(c) != std::string_view::npos;
}

size_t value_end(std::string_view text, size_t at) {
  while (at < text.size() && !ends_value(text[at])) ++at;
  return at;
}

// Returns the end of a URL's query. A query may contain commas and brackets. A colon at its end
// belongs to the sentence around the URL.
size_t query_end(std::string_view text, size_t at) {
  const size_t end = std::min(text.find_first_of(" \t\r\n'\"`<>", at), text.size());
  return end > at && text[end - 1] == ':' ? end - 1 : end;
}

// Each function below finds one kind of secret. known_token() returns the end of a secret that
// starts at text[at]. The others return the start and end of a secret at or after text[at]. If
// there is no secret, all returned positions are `at`.

// Finds a key or token that has a known prefix.
size_t known_token(std::string_view text, size_t at) {
  static constexpr struct {
    std::string_view start;
    size_t least;  // minimum number of characters after `start`
  } kForms[] = {{"AKIA", 16},    {"ASIA", 16}, {"ghp_", 20}, {"gho_", 20},        {"ghs_", 20},
                {"ghu_", 20},    {"ghr_", 20}, {"hf_", 20},  {"github_pat_", 20}, {"xoxb-", 10},
                {"xoxp-", 10},   {"eyJ", 30},  {"IQoJ", 40}, {"FwoG", 40},        {"FQoG", 40},
                {"glpat-", 20},  {"npm_", 36}, {"AIza", 35}, {"sk_live_", 20},    {"sk-ant-", 20},
                {"sk-proj-", 20}};
  if (at > 0 && is_word(text[at - 1])) return at;
  for (const auto& form : kForms) {
    if (!text.substr(at).starts_with(form.start)) continue;
    size_t end = at + form.start.size();
    while (end < text.size() && is_token(text[end])) ++end;
    if (end - at >= form.start.size() + form.least) return end;
  }
  constexpr std::string_view kKey = "-----BEGIN ";
  if (!text.substr(at).starts_with(kKey)) return at;
  const size_t title = text.find("-----", at + kKey.size());
  if (title == text.npos || text.substr(at, title - at).find("PRIVATE KEY") == text.npos) return at;
  const size_t last = text.find("-----END", title);
  const size_t end = last == text.npos ? text.npos : text.find("-----", last + 8);
  return end == text.npos ? text.size() : end + 5;
}

// Finds the password in "user:password@", the token in "token@", or both in "token:password@".
// `at`: the position after "://".
std::pair<size_t, size_t> url_login(std::string_view text, size_t at) {
  const size_t end = std::min(text.find_first_of("/?# \t\n'\"", at), text.size());
  const size_t sign = text.substr(at, end - at).rfind('@');
  if (sign == text.npos) return {at, at};
  if (known_token(text, at) > at) return {at, at + sign};
  const size_t colon = text.find(':', at);
  return {colon < at + sign ? colon + 1 : at, at + sign};
}

// Finds the value in name=value, "name": "value" or `Authorization: value`, if the name contains a
// word of kWords that starts at text[at]. `lower_text`: `text` in lower case. `name_end` (in and
// out): end of the last name found, so that later calls do not scan a long name again.
std::pair<size_t, size_t> named_value(std::string_view text, std::string_view lower_text, size_t at,
                                      size_t& name_end) {
  for (const std::string_view word : kWords) {
    if (!lower_text.substr(at).starts_with(word)) continue;
    size_t i = std::max(at + word.size(), name_end);
    while (i < text.size() && is_word(text[i])) ++i;
    name_end = i;
    const bool quoted = i < text.size() && (text[i] == '"' || text[i] == '\'');
    i += quoted;
    while (i < text.size() && text[i] == ' ') ++i;
    if (i == text.size()) return {at, at};
    const bool header = word == "authorization" || lower_text.substr(at, i - at) == "token";
    if (text[i] != '=' && !(text[i] == ':' && (quoted || header))) return {at, at};
    ++i;
    while (i < text.size() && text[i] == ' ') ++i;
    if (i < text.size() && (text[i] == '"' || text[i] == '\''))
      return {i + 1, std::min(text.find(text[i], i + 1), text.size())};
    for (const std::string_view scheme : {"bearer ", "basic ", "token "})
      if (lower_text.substr(i).starts_with(scheme)) i += scheme.size();
    return {i, value_end(text, i)};
  }
  return {at, at};
}

// Whether `value` looks like a path. Keys in base64 may contain slashes too. But they mix capital
// letters, small letters and digits, and are longer than most relative paths. In absolute paths,
// short names may contain this mix, too.
bool may_be_path(std::string_view value) {
  constexpr size_t kLongest = 40, kShortName = 16;
  if (value.starts_with("./") || value.starts_with("~/")) return true;
  if (value.find('/') == value.npos || value.find_first_of("+=") != value.npos) return false;
  if (!value.starts_with('/') && value.size() >= kLongest) return false;
  const size_t may_mix = value.starts_with('/') && value.rfind('/') > 0 ? kShortName : 0;
  for (size_t begin = 0; begin < value.size();) {
    const size_t end = std::min(value.find('/', begin), value.size());
    const auto has = [&](int (*is)(int)) {
      return std::ranges::any_of(value.substr(begin, end - begin),
                                 [&](char c) { return is(static_cast<unsigned char>(c)) != 0; });
    };
    const bool mixed = has(std::isupper) && has(std::islower) && has(std::isdigit);
    if (mixed && end - begin >= may_mix) return false;
    begin = end + 1;
  }
  return true;
}

void replace_all(std::string& text, const std::string& secret) {
  for (size_t at = 0; (at = text.find(secret, at)) != text.npos; at += kMask.size())
    text.replace(at, secret.size(), kMask);
}

}  // namespace

void hide_secrets(const std::map<std::string, std::string>& environment) {
  constexpr size_t kShortest = 8;  // shorter values may be ordinary words and numbers
  for (const auto& [name, value] : environment) {
    const std::string key = lower(name);
    const auto says = [&](std::string_view word) { return key.find(word) != key.npos; };
    const bool ends = key.ends_with("_key") || key.ends_with("_pwd");
    const bool secret = std::ranges::any_of(kWords, says) || (ends && !may_be_path(value));
    if (value.size() < kShortest || !secret) continue;
    hidden().push_back(value);
    // Failure messages replace line breaks and tabs with blanks. Hides the value in this form too.
    std::string line = value;
    std::ranges::replace_if(
        line, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
    if (line != value) hidden().push_back(line);
  }
  // Longest first, because a secret may be the start of another one.
  std::ranges::sort(hidden(), std::ranges::greater{}, &std::string::size);
}

std::string masked(const std::string& original) {
  std::string text = original;
  for (const std::string& secret : hidden()) replace_all(text, secret);
  const std::string lower_text = lower(text);
  std::string result;
  bool in_url = false;
  size_t name_end = 0;
  for (size_t at = 0; at < text.size();) {
    const std::string_view view = text;
    std::pair<size_t, size_t> secret = {at, known_token(view, at)};
    if (in_url && ends_value(text[at])) in_url = false;
    if (secret.first == secret.second && view.substr(at).starts_with("://")) {
      in_url = true;
      secret = url_login(view, at + 3);
    } else if (secret.first == secret.second && in_url && text[at] == '?') {
      secret = {at + 1, query_end(view, at + 1)};
    } else if (secret.first == secret.second) {
      secret = named_value(view, lower_text, at, name_end);
    }
    if (secret.first < secret.second) {
      result.append(view.substr(at, secret.first - at)).append(kMask);
      at = secret.second;
    } else {
      result += text[at++];
    }
  }
  return result;
}

}  // namespace shoal
