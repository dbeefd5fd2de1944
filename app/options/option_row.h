#pragma once
// Helpers for the option tables and the tables in foreign/: they build the Option for a field, and
// convert the field's value from and to text.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/options/options.h"
#include "base/text.h"

namespace shoal::app {

// Parses true/false, yes/no, on/off or 1/0, ignoring case. The empty string means true, like a bare
// --flag. Throws std::invalid_argument for any other text.
bool parse_flag(const std::string& text);

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

// store() parses `text` into `field`. Throws std::invalid_argument with the expected form.
template <std::integral T>
void store(T& field, const std::string& text) {
  if (const auto value = parse_number<T>(text)) {
    field = *value;
    return;
  }
  // JSON and YAML may write whole numbers as 64.0 or 1e3.
  const auto number = parse_number<double>(text);
  const double most = std::min(9007199254740992.0, double(std::numeric_limits<T>::max()));
  const double least = std::is_unsigned_v<T> ? 0 : -most;
  if (!number || *number != std::floor(*number) || *number < least || *number > most) {
    const char* what = std::is_unsigned_v<T> ? "a whole number of 0 or more" : "a whole number";
    throw std::invalid_argument(what);
  }
  field = static_cast<T>(*number);
}
inline void store(bool& field, const std::string& text) {
  field = parse_flag(text);
}
inline void store(double& field, const std::string& text) {
  const auto value = parse_number<double>(text);
  if (!value || !std::isfinite(*value)) throw std::invalid_argument("a number");
  field = *value;
}
inline void store(std::string& field, const std::string& text) {
  if (text.empty()) throw std::invalid_argument("text that is not empty");
  if (lower(text) == "true" || lower(text) == "false")
    throw std::invalid_argument("text other than true or false");
  field = text;
}
// `none` resets the field, as if the option were not given. If T is a number, `off` does the same.
template <class T>
void store(std::optional<T>& field, const std::string& text) {
  if (text == "none" || (text == "off" && std::is_arithmetic_v<T>)) return field.reset();
  T value{};
  store(value, text);
  field = std::move(value);
}

// text_of() is the inverse of store(). An unset optional becomes an empty string.
template <std::integral T>
std::string text_of(const T& field) {
  return std::to_string(field);
}
inline std::string text_of(const bool& field) {
  return field ? "true" : "false";
}
inline std::string text_of(const double& field) {
  return number(field);
}
inline std::string text_of(const std::string& field) {
  return field;
}
template <class T>
std::string text_of(const std::optional<T>& field) {
  return field ? text_of(*field) : "";
}

// Selects a field of Arguments, for row() and choice().
template <class Select>
struct ArgumentField {
  Select select;
  auto& in(Arguments& arguments) const { return select(arguments); }
  const auto& in(const Arguments& arguments) const { return select(arguments); }
};
template <class Select>
ArgumentField(Select) -> ArgumentField<Select>;
// Selects a field of train::Job and, if there is one, the field of the same name in ResolvedJob.
template <class Select>
struct JobField {
  Select select;
  auto& in(Arguments& arguments) const { return select(arguments.job); }
  const auto& in(const Arguments& arguments) const { return select(arguments.job); }
};
template <class Select>
JobField(Select) -> JobField<Select>;
#define FIELD(path)                \
  ::shoal::app::ArgumentField {    \
    [](auto& arguments) -> auto& { \
      return arguments.path;       \
    }                              \
  }
#define JOB(path)                                              \
  ::shoal::app::JobField {                                     \
    [](auto& job) -> decltype((job.path)) { return job.path; } \
  }

// Sets option.resolved if ResolvedJob has the field. An ArgumentField is never in ResolvedJob.
// `write` converts a resolved value to text. If the field is an optional number in Job, the
// resolved value 0 means unset and becomes `none`.
template <class Select, class Write>
void add_resolved(Option& option, const ArgumentField<Select>&, Write) {
  (void)option;
}
template <class Select, class Write>
void add_resolved(Option& option, const JobField<Select>& field, Write write) {
  if constexpr (std::invocable<const Select&, const train::ResolvedJob&>) {
    using Asked = std::remove_cvref_t<decltype(field.select(std::declval<train::Job&>()))>;
    using Decided =
        std::remove_cvref_t<decltype(field.select(std::declval<train::ResolvedJob&>()))>;
    option.resolved = [select = field.select, write](const train::ResolvedJob& job) -> std::string {
      const auto& value = select(job);
      if constexpr (is_optional<Asked>::value && std::is_arithmetic_v<Decided>) {
        if (value == 0) return "none";
      }
      return write(value);
    };
  }
}

// Returns the row for a field: a flag if the field is a bool, else an option with a value.
template <class Field>
Option row(std::string name, unsigned commands, std::string placeholder, std::string help,
           Field field) {
  using Type = std::remove_cvref_t<decltype(field.in(std::declval<Arguments&>()))>;
  Option option;
  option.name = std::move(name);
  option.commands = commands;
  option.kind = std::is_same_v<Type, bool> ? Kind::flag : Kind::value;
  option.placeholder = std::move(placeholder);
  option.help = std::move(help);
  option.takes_fractions =
      std::is_same_v<Type, double> || std::is_same_v<Type, std::optional<double>>;
  option.set = [field](Arguments& arguments, const std::string& text) {
    store(field.in(arguments), text);
  };
  option.get = [field](const Arguments& arguments) { return text_of(field.in(arguments)); };
  add_resolved(option, field, [](const auto& value) { return text_of(value); });
  return option;
}

// Parses a number of bytes, optionally followed by K, M, G or T (powers of 1024) and by B, in upper
// or lower case. Throws std::invalid_argument for any other text.
int64_t parse_bytes(const std::string& text);

// Returns the row for a number of bytes.
template <class Field>
Option memory_row(std::string name, unsigned commands, std::string help, Field field) {
  Option option = row(std::move(name), commands, "BYTES", std::move(help), field);
  option.set = [field](Arguments& arguments, const std::string& text) {
    field.in(arguments) = parse_bytes(text);
  };
  return option;
}

// Parses a duration and returns it in seconds. The text is a number of seconds, or numbers with the
// units d, h, m and s in this order (1h30m). Throws std::invalid_argument for any other text.
double parse_duration(const std::string& text);

// Returns the row for a number of seconds.
template <class Field>
Option duration_row(std::string name, unsigned commands, std::string help, Field field) {
  Option option = row(std::move(name), commands, "TIME", std::move(help), field);
  option.set = [field](Arguments& arguments, const std::string& text) {
    field.in(arguments) = parse_duration(text);
  };
  return option;
}

// Returns the row for an enumeration. `values`: each allowed text with its enumerator.
template <class Enum, class Field>
Option choice(std::string name, unsigned commands, std::string help,
              std::vector<std::pair<std::string, Enum>> values, Field field) {
  Option option;
  option.name = std::move(name);
  option.commands = commands;
  option.help = std::move(help);
  for (const auto& [text, value] : values) option.choices.push_back(text);
  option.set = [field, values](Arguments& arguments, const std::string& text) {
    for (const auto& [known, value] : values) {
      if (known == text) field.in(arguments) = value;
    }
  };
  const auto text_of_choice = [values](const auto& field_value) -> std::string {
    for (const auto& [text, value] : values) {
      if (field_value == value) return text;
    }
    return "";
  };
  option.get = [field, text_of_choice](const Arguments& arguments) {
    return text_of_choice(field.in(arguments));
  };
  add_resolved(option, field, text_of_choice);
  return option;
}

// Returns the row for a text field with a fixed set of allowed values.
template <class Field>
Option text_choice(std::string name, unsigned commands, std::string help,
                   std::vector<std::string> values, Field field) {
  Option option = row(std::move(name), commands, "", std::move(help), field);
  option.choices = std::move(values);
  return option;
}

}  // namespace shoal::app
