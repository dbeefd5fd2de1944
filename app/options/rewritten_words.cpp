#include "app/options/rewritten_words.h"

#include <algorithm>

#include "app/options/foreign/foreign_options.h"
#include "app/options/settings/encodings.h"
#include "base/text.h"

namespace shoal::app {
namespace {

using Words = std::vector<std::string>;

// Returns the option that the name `no-NAME` switches off, or null.
const Option* find_negated(Command command, const std::string& name) {
  if (!with_dashes(name).starts_with("no-")) return nullptr;
  const Option* option = find_option(command, name.substr(3));
  return option && option->can_be_off() ? option : nullptr;
}

// Returns the command's option with that one-letter form, or null.
const Option* find_letter(Command command, char letter) {
  for (const Option& option : options())
    if (option.letter == letter && option.is_for(command)) return &option;
  return nullptr;
}

// Whether the word `next` is the value of the option `written`, which has no "=". `next`: null if
// no word follows. Throws UserError if a required value is missing.
bool takes(Command command, const std::string& written, Kind kind, const Words& choices,
           const std::string* next) {
  const std::optional<std::string> plain = next ? decoded(*next) : std::nullopt;
  const bool is_switch =
      next && (!plain || plain->empty() || lower(*plain) == "true" || lower(*plain) == "false");
  switch (kind) {
    case Kind::flag:
      return is_switch;
    case Kind::optional_value:
      if (!next || next->starts_with("-")) return false;
      return choices.empty() || is_switch ||
             std::find(choices.begin(), choices.end(), *plain) != choices.end();
    case Kind::value:
      break;
  }
  if (!next) throw UserError(written + " needs a value");
  if (next->starts_with("--") && find_option(command, next->substr(2, next->find('=') - 2))) {
    throw UserError(written + " needs a value, but " + *next + " follows");
  }
  return true;
}

// Whether the word names an option whose value may be several numbers.
bool takes_numbers(Command command, const std::string& word) {
  if (!word.starts_with("--")) return false;
  const Option* const option = find_option(command, word.substr(2));
  if (option) return option->list == ",";
  const ForeignOption* const other =
      command == Command::train ? find_foreign(word.substr(2)) : nullptr;
  return other && other->numbers;
}

// Joins an option's numbers with commas if they are separate words, as in timm's
// `--mean 0.485 0.456 0.406`.
Words with_joined_numbers(Command command, const Words& words) {
  Words result;
  for (size_t i = 0; i < words.size(); ++i) {
    result.push_back(words[i]);
    if (!takes_numbers(command, words[i])) continue;
    std::string numbers;
    for (; i + 1 < words.size() && parse_number<double>(words[i + 1]); ++i)
      numbers += (numbers.empty() ? "" : ",") + words[i + 1];
    if (!numbers.empty()) result.push_back(numbers);
  }
  return result;
}

class Rewriter {
 public:
  Rewriter(Command command, Words& ineffective) : command_(command), ineffective_(ineffective) {}

  RewrittenWords rewrite(const Words& words) {
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (word == "--") {
        result_.words.insert(result_.words.end(), words.begin() + static_cast<std::ptrdiff_t>(i),
                             words.end());
        break;
      }
      const std::string* next = i + 1 < words.size() ? &words[i + 1] : nullptr;
      if (word.size() < 2 || word[0] != '-') {
        result_.words.push_back(word);
      } else if (word[1] != '-') {
        i += short_option(word, next);
      } else {
        i += long_option(word, next);
      }
    }
    if (!unknown_.empty()) throw unknown_options(command_, unknown_, kCommandLine);
    return result_;
  }

 private:
  // Handles an option that begins with --. Returns whether `next` is its value.
  bool long_option(const std::string& word, const std::string* next) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(2, equals - 2);
    const bool assigned = equals < word.size();
    const Option* option = find_option(command_, name);
    if (const Option* negated = find_negated(command_, name); negated && !option) {
      if (assigned) {
        throw UserError("--" + name + " takes no value; write --" + negated->name +
                        "=true or =false");
      }
      add("--" + negated->name,
          "--" + negated->name + "=" + (negated->off.empty() ? "false" : negated->off));
      return false;
    }
    if (const ForeignOption* other = foreign(name); other && !option) {
      if (!assigned) return foreign_option(*other, "--" + name, next);
      take(*other, "--" + name, word.substr(equals + 1));
      return false;
    }
    if (!option) return unknown("--" + name, assigned ? nullptr : next);
    const std::string written = "--" + option->name;
    if (assigned) {
      add(written, written + word.substr(equals));
      return false;
    }
    Words values = option->choices;
    if (!option->refused.empty()) values.push_back(option->refused);  // so that apply() rejects it
    // A word that is not a number may be a path, as in `shoal report --serve RUN`.
    const bool path_follows = option->kind == Kind::optional_value && option->range && next &&
                              row_of(command_).takes_paths && !parse_number<double>(*next);
    const bool took = !path_follows && takes(command_, written, option->kind, values, next);
    // SageMaker's toolkits write --flag '' to turn a flag on.
    const bool bare = !took || (option->kind != Kind::value && next->empty());
    add(written, written + (bare ? "" : "=" + *next));
    return took;
  }

  // Handles one-letter options of shoal and of other programs: -x VALUE, -xVALUE and -x=VALUE.
  // Returns whether `next` is the option's value.
  bool short_option(const std::string& word, const std::string* next) {
    const std::string name = word.substr(1, 1);
    if (const Option* option = find_letter(command_, word[1])) {
      const std::string value = word.size() == 2 ? "" : "=" + word.substr(word[2] == '=' ? 3 : 2);
      return long_option("--" + option->name + value, next);
    }
    const ForeignOption* other = foreign(name);
    if (!other || (other->kind == Kind::flag && word.size() > 2))
      return unknown(word, word.size() == 2 ? next : nullptr);
    if (word.size() == 2) return foreign_option(*other, "-" + name, next);
    take(*other, "-" + name, word.substr(word[2] == '=' ? 3 : 2));
    return false;
  }

  // Records an unknown option, so that one error can name all unknown options. Returns whether
  // `next` looks like the option's value.
  bool unknown(const std::string& written, const std::string* next) {
    unknown_.push_back(written);
    const auto is_digit = [&](size_t i) { return next->find_first_of("0123456789.") == i; };
    return next && (!next->starts_with("-") || is_digit(1));
  }

  const ForeignOption* foreign(const std::string& name) const {
    return command_ == Command::train ? find_foreign(name) : nullptr;
  }

  bool foreign_option(const ForeignOption& other, const std::string& written,
                      const std::string* next) {
    const bool took = takes(command_, written, other.kind, {}, next);
    take(other, written, took ? *next : "");
    return took;
  }

  void take(const ForeignOption& other, const std::string& written, const std::string& value) {
    if (const std::string recipe = defaults_of(other); !recipe.empty()) result_.recipe = recipe;
    const Pairs pairs = translate(other, value, ineffective_);
    for (const auto& [option, ours] : pairs)
      add(pairs.size() == 1 ? written : "", "--" + option + "=" + ours);
  }

  // Adds the option `word`: --NAME or --NAME=VALUE. Makes a required value a separate word, because
  // cxxopts rejects --NAME=VALUE if the value contains a line break.
  void add(const std::string& written, const std::string& word) {
    result_.written.push_back(written);
    const size_t equals = word.find('=');
    if (equals != std::string::npos &&
        find_option(command_, word.substr(2, equals - 2))->kind == Kind::value) {
      result_.words.push_back(word.substr(0, equals));
      result_.words.push_back(word.substr(equals + 1));
    } else {
      result_.words.push_back(word);
    }
  }

  Command command_;
  Words& ineffective_;
  RewrittenWords result_;
  Words unknown_;  // options in the user's spelling
};

}  // namespace

RewrittenWords rewrite(Command command, const Words& words, Words& ineffective) {
  return Rewriter(command, ineffective).rewrite(with_joined_numbers(command, words));
}

}  // namespace shoal::app
