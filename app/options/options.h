#pragma once
// The one table of options. Parser, checks, --help, recipes, hyperparameters, the settings that a
// checkpoint keeps and what --resume compares are all derived from it. Torch-free.
//
// An option is one documented field of train::Job (or of Arguments, when it is no part of a job)
// and one row in option_table*.cpp. Defaults live in the structs.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/options/commands.h"
#include "train/run/job.h"

namespace shoal::app {

// A given value and its origin: "command line", "hyperparameters.json" or "SM_HPS".
struct Setting {
  std::string name, value, origin;
  std::string written{};  // the name as it was written, "--data-dir"; may be empty
  bool operator==(const Setting&) const = default;
};

// Several hosts without a platform or launcher that names them: torchrun's words.
struct Nodes {
  int64_t count = 1;        // hosts that this job has
  int64_t rank = 0;         // rank of this host, 0 … count-1
  std::string master_addr;  // the first host; empty: the variable MASTER_ADDR
  int64_t master_port = 0;  // 0: the variable MASTER_PORT
};

// Of `bench loader`.
struct BenchOptions {
  bool train = false, eval = false;  // training's crops or evaluation's views; neither: training's
  data::Resize mode = data::Resize::exact;
  double seconds = 5;  // of each measurement
  double wanted = 0;   // images/s to find the threads for; 0: none
};

// What `prepare` makes: one folder per class, one tar per class, or packed files.
enum class PrepareAs { folders, tars, packs };

// Everything a command was asked for.
struct Arguments {
  Command command = Command::train;
  train::Job job;
  // Positional: of `predict` images or folders, of `pack` source and destination, of `bench` what
  // to measure and the images, of `prepare` the name of the data, source and destination.
  std::vector<std::string> paths;
  Nodes nodes;
  std::string nproc;  // processes on this host: a number, "auto", or empty when not given
  // SageMaker instance groups that take part, comma-separated; empty: those of a toolkit, else all.
  std::string instance_group;
  std::string weights_model;       // eval, predict: network of --weights; empty: the file's
  std::string recipe;              // name of the recipe that was applied; "list" asks for the names
  bool json = false, csv = false;  // output of eval, predict and models
  int64_t topk = 5;                // predict: classes to name for each image
  bool logits = false;             // predict: print their logits too
  bool definitions = false;        // metrics: print MetricDefinitions
  bool launcher = false;           // doctor: how ranks would be found
  data::PackOptions pack;
  BenchOptions bench;
  PrepareAs prepare_as = PrepareAs::folders;
  bool verify = false, info = false;  // pack: check or describe a packed set
  std::string help;  // what --help asks for: kCommonHelp, "all" or a word; empty: not asked for
  bool strict_hyperparameters = false;  // hyperparameters that no option knows are an error
  std::vector<std::string> words;       // the command line, the command first
  // Option → where its value came from ("command line", "recipe demo", "hyperparameters.json").
  std::map<std::string, std::string> origins;
  // Messages about given options that no run would use: "--gpu has no effect: …"
  // (no_effect() adds those that this run does not use).
  std::vector<std::string> ineffective;
  std::vector<std::string> notes;  // other messages to log at the start of a run
};

// Bit of Option::commands: plain --help shows this option.
inline constexpr unsigned kCommon = 1u << 31;
inline constexpr const char* kCommonHelp = "common";  // what --help alone asks for

enum class Kind { flag, value, optional_value };  // --x / --no-x; --x V; --x [V]

// The numbers that an option accepts.
struct Range {
  double low, high;        // kUnlimited: no limit is shown
  bool above_low = false;  // low itself is refused
  bool below_high = false;
  bool holds(double value) const;
  std::string sentence() const;  // "from 0 to below 1"
  // "0 <= X < 1"; without limits above 1e5, which only keep arithmetic from overflowing.
  std::string formula(const std::string& name) const;
};
inline constexpr double kUnlimited = 0x1p40;

// How --resume treats a setting that changes results.
struct Saving {
  train::MayDiffer may_differ = train::MayDiffer::always;
  std::string advice;  // what to do if it differs and must not; {}: the saved value
  // Options that replace this one: naming one of them leaves the saved value aside.
  std::vector<std::string> replaced_by;
  bool evaluation = false;  // --eval-only takes it over as well
};

struct Option {
  std::string name;                      // without dashes
  std::vector<std::string> other_names;  // of other programs, for "did you mean"
  std::string group;                     // heading in --help
  unsigned commands = 0;                 // bits of Command, and kCommon
  Kind kind = Kind::value;
  std::string placeholder;           // the value in --help; its unit where it has one: N, SECONDS
  std::string help;                  // what the option does; without range, default and full stop
  std::vector<std::string> choices;  // allowed values; empty: any that parse
  std::string refused, refused_because;  // another program's value, and why it is not a choice
  std::optional<Range> range;
  std::string unset;          // the default in words, when the field has no fixed one
  std::string bare = "true";  // of optional_value: the value that --x alone stands for
  std::string off;   // the value that false and --no-x stand for; empty: it cannot be switched off
  std::string list;  // separators of a list value (encodings.h, joined_list); empty: a single value
  std::optional<Saving> saving;  // nothing: the option does not change results
  bool training_only = false;    // has no effect with --eval-only

  // Stores the value. Throws std::invalid_argument with what the value must be ("a whole number").
  std::function<void(Arguments&, const std::string&)> set;
  // The value as text that `set` accepts; empty when it is unset.
  std::function<std::string(const Arguments&)> get;
  // The decided value as text that `set` accepts; null for options that resolution leaves out.
  std::function<std::string(const train::ResolvedJob&)> resolved;

  // Each returns the row with one more property.
  Option unset_is(std::string meaning) &&;
  Option off_is(std::string value) &&;
  Option spells_lists(std::string spelling) &&;
  Option also_called(std::vector<std::string> names) &&;
  Option within(double low, double high) &&;      // low <= value <= high
  Option from_below(double low, double high) &&;  // low <= value < high
  Option above(double low, double high = kUnlimited) &&;
  Option at_least(double low) &&;
  Option changes_results(train::MayDiffer may_differ = train::MayDiffer::always,
                         std::string advice = "") &&;
  Option replaced_by(std::string option) &&;  // after changes_results()
  Option of_evaluation() &&;                  // after changes_results()
  Option of_training() &&;
  Option refuses(std::string value, std::string because) &&;
};

// All options, in the order of --help. Built once; thread-safe.
const std::vector<Option>& options();

// The row of that name for that command, or null. '_' and '-' are the same in a name.
const Option* find_option(Command command, std::string_view name);

// Returns the error for options that the command does not have. It names them all as they were
// `written`, with their dashes, and suggests a known option for each where one is near.
UserError unknown_options(Command command, const std::vector<std::string>& written,
                          const std::string& origin);

// Like find_option(), but throws unknown_options() if there is no such option.
const Option& require_option(Command command, std::string_view name, const std::string& origin);

// Returns the option of the command whose name, or whose name in another program, is nearest to
// `name`; empty if none is near.
std::string nearest_option(Command command, std::string_view name);

// Sets one option from text, as people, SDKs and YAML write it (encodings.h); null and None change
// nothing. `origin`: source of the text ("command line", "hyperparameters.json"), for messages.
// Throws UserError: unknown name (with the nearest one), a value that does not parse, is no choice
// or out of range.
void apply(Arguments& arguments, std::string_view name, const std::string& value,
           const std::string& origin);

// Parses what follows the command's name. Forms: --name VALUE, --name=VALUE, --flag, --no-flag,
// --flag true|false, --no-NAME for whatever can be switched off, --resume, --resume PATH; if an
// option is repeated, its last value counts; "--" ends the options.
// `train` knows other programs' options too (foreign_options.h), their one-letter forms, and a
// data folder without a name. A recipe is applied first, then `settings` in their order
// (hyperparameters), then the command line. Throws UserError; all unknown options are named
// in one.
Arguments parse(Command command, const std::vector<std::string>& words,
                const std::vector<Setting>& settings = {});

// Text of `shoal COMMAND --help TOPIC`. "all": usage, options by group with default and unit,
// recipes, exit codes; kCommonHelp: the common options, on one screen; any other word: the lines
// that mention it, ignoring case.
std::string command_help(Command command, const std::string& topic);
std::string exit_code_help();  // the table of exit codes at its end

// Returns the option's default as --help shows it.
std::string default_of(const Option& option, const Arguments& defaults);
// Returns the placeholder's first alternative: "N" for "N|FILE".
std::string value_name(const Option& option);

// docs/options.md: every option with value, range, default, commands, and what --resume does.
std::string options_page();

}  // namespace shoal::app
