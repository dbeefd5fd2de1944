#pragma once
// The option table. Parser, checks, --help, recipes, hyperparameters, the settings saved in
// checkpoints and the comparison at --resume are all derived from it. Does not use LibTorch.
//
// An option consists of a field of train::Job (or of Arguments, if it is not part of a job) and a
// row in table/*.cpp. The field's initial value is the option's default; the row's placeholder
// names the unit (SECONDS, PIXELS).

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/options/commands.h"
#include "train/job/export_file_options.h"
#include "train/job/job.h"

namespace shoal::app {

// A given value and its origin, such as "command line", "hyperparameters.json" or "SM_HPS".
struct Setting {
  std::string name, value, origin;
  std::string written{};  // the name as the user wrote it, such as "--data-dir"; may be empty
  bool operator==(const Setting&) const = default;
};

// Returns the source of `origin`. For a file, this is `origin` without the line number. For each
// variable SM_HP_*, it is "SM_HP_": these variables together are one source.
std::string_view source_of(std::string_view origin);

// Settings of a job that the user starts by hand on each of several hosts. The options have
// torchrun's names: --nnodes, --node-rank, --master-addr, --master-port.
struct Nodes {
  int64_t count = 1;        // number of hosts of this job
  int64_t rank = 0;         // rank of this host, 0 to count - 1
  std::string master_addr;  // address of host 0; empty: the variable MASTER_ADDR
  int64_t master_port = 0;  // port on host 0; 0: the variable MASTER_PORT
};

// Options of `bench`.
struct BenchOptions {
  bool train = false, eval = false;  // what to measure; at most one is true; both false: train
  // bench loader
  data::Resize mode = data::Resize::exact;
  double seconds = 5;  // duration of each measurement
  double wanted = 0;   // find the number of threads that loads this many images/s; 0: off
  // bench step
  int64_t steps = 10, warmup = 3;  // measured steps, and unmeasured steps before them
  std::string trace;               // file for a trace; empty: none
};

// Options of `bench scaling`.
struct ScalingOptions {
  int64_t hosts = 8, processes = 1;  // number of hosts, and of processes on each
  // Network between hosts: speed in Gbit/s in each direction, latency in microseconds.
  double link_gbps = 10, link_us = 50;
  std::optional<double> local_gbps;  // speed between the processes of a host
  std::optional<double> step_ms;     // duration of a step; not given: measured
};

// Options of `eval`.
struct EvalOptions {
  std::string output;          // folder for evaluation.json; empty: none
  std::string predictions;     // file for the prediction of each image; empty: none
  std::string real_labels;     // file with several correct labels per image; empty: none
  std::string subset = "all";  // classes that the model may predict: all, data, or a file of names
  int64_t suspects = 0;        // print this many images whose labels may be wrong
  bool details = false;        // print metrics of each class, confusions and calibration
};

// Options of `report`.
struct ReportOptions {
  std::string output;                 // file to write; empty: RUN/report.html, or report.html
  std::optional<int64_t> serve;       // port to serve the report on; not given: write a file
  std::string address = "127.0.0.1";  // serve: the address to listen on
};

// Output format of `prepare`: one folder per class, one tar per class, or packed files.
enum class PrepareAs { folders, tars, packs };

constexpr int kMaxThreads = 1024;  // limit of --threads and --workers

// All settings of a command.
struct Arguments {
  Command command = Command::train;
  train::Job job;
  // Positional arguments. `eval`, `export`, `average`, `inspect`: weights; `predict`: weights
  // (unless an option names them), then images or folders; `models`, `weights`: names; `pack`:
  // source and destination; `bench`: what to measure, and the images; `prepare`: name of the
  // dataset, source and destination; `report`: runs; `runs`: folders with runs; `completion`: what
  // to print.
  std::vector<std::string> paths;
  Nodes nodes;
  std::string nproc;  // processes on this host: a number, "auto", or empty when not given
  // SageMaker instance groups that run the job, comma-separated. Empty: the groups in the variable
  // SM_DISTRIBUTION_INSTANCE_GROUPS, which SageMaker's toolkits set, else all.
  std::string instance_group;
  std::string weights_model;  // network of --weights; empty: determined from the weights
  std::string layers;         // models: network whose layers to list; empty: list networks
  // Folder for downloaded weights. gather() sets the default (app/weights/cache_folder.h), which is
  // empty if no environment variable names a folder.
  std::string weights_cache;
  std::string recipe;              // the applied recipe; "list": print all recipes
  std::string config;              // file of settings; empty: none
  std::string sort = "name";       // runs: column by which to sort
  bool json = false, csv = false;  // print the result as JSON or as CSV
  int64_t topk = 5;                // predict: number of classes to print per image
  bool logits = false;             // predict, eval --predictions: also write logits
  bool strict = false;             // predict: unreadable images are a failure
  EvalOptions eval;
  std::string predict_output;            // predict: file to write; empty: standard output
  std::string average_output;            // average: file to write
  bool tensors = false;                  // inspect: list all tensors
  bool definitions = false;              // metrics: no effect, definitions are always printed
  bool launcher = false;                 // doctor: show how ranks would be determined
  train::ExportFileOptions export_file;  // export: what to write
  std::string export_to;                 // export: the file; empty: NETWORK.onnx, …
  bool use_ema = true;                   // eval, predict, export, average: prefer averaged weights
  data::PackOptions pack;
  BenchOptions bench;
  ScalingOptions scaling;
  ReportOptions report;
  PrepareAs prepare_as = PrepareAs::folders;
  bool report_page = true;            // train: write OUTPUT/report.html at the end
  bool verify = false, info = false;  // pack: check or describe a packed set
  std::string compare;                // pack: path of images to compare with source; empty: none
  // Value of --help: kCommonHelp, "all", or a word to search the help for. Empty: not given.
  std::string help;
  bool strict_hyperparameters = false;  // unknown hyperparameters are an error
  std::vector<std::string> words;       // the command line, beginning with the command
  // Option → origin of its value ("command line", "recipe demo", "hyperparameters.json"). Options
  // with their default value are absent.
  std::map<std::string, std::string> origins;
  // The parser's messages about given options without effect: "--gpu has no effect: …".
  // no_effect() adds messages about options that have no effect in this run.
  std::vector<std::string> ineffective;
  std::vector<std::string> notes;  // other messages to log at the start of a run
};

// Origin of a setting that the user gave on the command line.
inline constexpr const char* kCommandLine = "command line";

// First word of the origin of a setting that a recipe gave; the recipe's name follows.
inline constexpr const char* kRecipeOrigin = "recipe ";

// Whether the user gave this option on the command line.
bool is_on_command_line(const Arguments& arguments, const std::string& option);

// Whether the option has been set. Values of a recipe that the user did not name (kImagenetRecipe)
// count as defaults.
bool is_chosen(const Arguments& arguments, const std::string& option);

// Bit of Option::commands: plain --help shows this option.
inline constexpr unsigned kCommon = 1u << 31;
inline constexpr const char* kCommonHelp = "common";  // topic of --help without a value

enum class Kind { flag, value, optional_value };  // --x / --no-x; --x V; --x [V]

// The range of numbers that an option accepts.
struct Range {
  double low, high;         // high = kUnlimited: no limit for fractions, 2^40 for whole numbers
  bool above_low = false;   // excludes low
  bool below_high = false;  // excludes high
  bool holds(double value) const;
  std::string sentence() const;  // for messages: "from 0 to below 1"
  // For help: "0 <= X < 1". Omits upper limits above 1e5, which only prevent arithmetic overflow.
  std::string formula(const std::string& name) const;
};
inline constexpr double kUnlimited = 0x1p40;

// How --resume treats a setting that changes results.
struct Saving {
  train::MayDiffer may_differ = train::MayDiffer::always;
  std::string advice;  // what to do about a refused change; {} is replaced by the saved value
  // Options that replace this one. If one of them is given, the saved value is not restored.
  std::vector<std::string> replaced_by;
  bool evaluation = false;  // whether --eval-only also restores the saved value
};

struct Option {
  std::string name;                      // without dashes
  char letter = 0;                       // one-letter form, 'o' for -o; 0: none
  std::vector<std::string> other_names;  // names in other programs, for "did you mean"
  std::string group;                     // heading in --help
  unsigned commands = 0;                 // bits of Command, and kCommon
  Kind kind = Kind::value;
  std::string placeholder;           // name of the value in --help, such as N or SECONDS
  std::string help;                  // what the option does, without range, default and full stop
  std::vector<std::string> choices;  // allowed values; empty: all values that can be parsed
  std::string refused, refused_because;  // a value of other programs, and why shoal refuses it
  std::optional<Range> range;
  bool takes_fractions = false;  // a number that need not be whole
  std::string unset;             // default in --help if Arguments() leaves the option unset
  // Defaults in --help for some commands (bits of Command). Other commands show the usual default.
  std::vector<std::pair<unsigned, std::string>> own_defaults;
  std::string bare = "true";  // optional_value: the value that --x alone means
  std::string off;            // value for --no-x and --x=false; empty: a flag, or cannot be off
  std::string list;  // separators of a list (encodings.h, joined_list); empty: a single value
  std::optional<Saving> saving;           // not set: the option does not change results
  bool training_only = false;             // has no effect with --eval-only
  std::vector<std::string> measurements;  // of `shoal bench`, with this option; empty: all

  // Stores the value. Throws std::invalid_argument with the expected form ("a whole number").
  std::function<void(Arguments&, const std::string&)> set;
  // Returns the value as text that `set` accepts; empty if it is unset.
  std::function<std::string(const Arguments&)> get;
  // Returns the resolved value as text that `set` accepts. Null if ResolvedJob does not contain the
  // option.
  std::function<std::string(const train::ResolvedJob&)> resolved;

  bool can_be_off() const { return kind == Kind::flag || !off.empty(); }  // with --no-NAME
  bool is_for(Command command) const { return (commands & static_cast<unsigned>(command)) != 0; }

  // Each function sets a property and returns the option.
  Option unset_is(std::string meaning) &&;
  Option default_in(unsigned commands_with_it, std::string meaning) &&;
  Option off_is(std::string value) &&;
  Option spells_lists(std::string spelling) &&;
  Option short_form(char letter_of_option) &&;
  Option also_called(std::vector<std::string> names) &&;
  Option within(double low, double high) &&;      // low <= value <= high
  Option from_below(double low, double high) &&;  // low <= value < high
  Option above(double low, double high = kUnlimited) &&;
  Option at_least(double low) &&;
  Option changes_results(train::MayDiffer may_differ = train::MayDiffer::always,
                         std::string advice = "") &&;
  Option replaced_by(std::string option) &&;  // call after changes_results()
  Option of_evaluation() &&;                  // call after changes_results()
  Option of_training() &&;
  Option in_bench(std::vector<std::string> names_of_measurements) &&;
  Option refuses(std::string value, std::string because) &&;
};

// All options, in the order of --help. Built once; thread-safe.
const std::vector<Option>& options();

// Returns the text of a number as people write it: 1e-4 instead of 1e-04, and 4/3 or 1/3 instead of
// a decimal fraction.
std::string readable(std::string text);

// Returns "a, b or c".
std::string alternatives(const std::vector<std::string>& choices);

// Replaces each '_' in the name by '-', as in the option tables.
std::string with_dashes(std::string_view name);

// Returns the command's option with that name, or null. '_' and '-' are the same in a name.
const Option* find_option(Command command, std::string_view name);

// Returns the error for options that the command does not have. `written`: these options as the
// user wrote them, with leading dashes. The message names all of them and suggests a similar option
// for each, if there is one.
UserError unknown_options(Command command, const std::vector<std::string>& written,
                          const std::string& origin);

// Like find_option(), but throws unknown_options() if there is no such option.
const Option& require_option(Command command, std::string_view name, const std::string& origin);

// Returns the name of the command's option that is most similar to `name`, or "" if none is. Knows
// the aliases from other programs, too. May return "no-NAME".
std::string nearest_option(Command command, std::string_view name);

// Sets one option from text as users, SDKs and YAML write it (encodings.h); null and None change
// nothing. `origin`: source of the text ("command line", "hyperparameters.json"), for messages.
// Throws UserError if the name is unknown or the value cannot be parsed, is not a choice or is out
// of range.
void apply(Arguments& arguments, std::string_view name, const std::string& value,
           const std::string& origin);

// Parses `words`, the command line after the command's name. Forms: --name VALUE, --name=VALUE,
// --flag, --no-flag, --flag true|false, --no-NAME for options that can be off, --resume,
// --resume PATH. If an option is repeated, the last value counts. "--" ends the options. `train`
// also accepts other programs' options (foreign_options.h), their one-letter forms, and a data
// folder without --data.
//
// Applies the recipe first, then `settings` (--config, hyperparameters) in their order, then the
// command line. Throws UserError; one error names all unknown options.
Arguments parse(Command command, const std::vector<std::string>& words,
                const std::vector<Setting>& settings = {});

// Returns the text of `shoal COMMAND --help TOPIC`. "all": usage, options by group with range and
// default, recipes, exit codes; kCommonHelp: the same if it fits on one screen, else the common
// options; any other word: the entries that mention it, ignoring case.
std::string command_help(Command command, const std::string& topic);
std::string exit_code_help();  // the table of exit codes

// Returns the option's default as --help of the command shows it. `defaults`: Arguments().
std::string default_of(const Option& option, const Arguments& defaults, Command command);
// Returns the defaults of all commands: "the model's; bench: 224".
std::string defaults_of(const Option& option, const Arguments& defaults);
// Returns the first alternative of the placeholder: "N" for "N|FILE".
std::string value_name(const Option& option);

// Returns the text of docs/options.md, a description of every option.
std::string options_page();

}  // namespace shoal::app
