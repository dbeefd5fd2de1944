// Completes command lines in real shells. The test cases of zsh and fish have a tag of their own,
// because these shells may not be installed.

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "app/options/manual/completion.h"
#include "models/catalogue.h"
#include "tests/support/capture.h"

using namespace shoal;
using Catch::Contains;

using Words = std::vector<std::string>;

namespace {

using WordSet = std::set<std::string>;
using Completions = std::map<std::string, WordSet>;  // command line → completions of its last word

// Returns command lines and their completions, which are equal in all shells. The current folder
// has a file photo.jpg and a folder photos.
Completions common_completions() {
  const WordSet paths = {"photo.jpg", "photos"};
  const Words& models = models::names();
  Completions lines = {
      {"shoal tra", {"train"}},
      {"shoal he", {"help"}},
      {"shoal --", {"--help", "--version"}},
      {"shoal help ev", {"eval"}},
      {"shoal train --warmup", {"--warmup-epochs", "--warmup-start"}},
      {"shoal train --no-nester", {"--no-nesterov"}},
      {"shoal train --model ", {models.begin(), models.end()}},
      {"shoal train --model resnet5", {"resnet50"}},
      {"shoal train --recipe resnet50_v", {"resnet50_v2"}},
      {"shoal train --lr 0.1 --schedule ", {"constant", "cosine", "step", "onecycle"}},
      {"shoal train --optimizer=ad", {"adamw", "adam"}},
      {"shoal train --lr ", {}},  // a number
      {"shoal train ph", {"photos"}},
      {"shoal train --data ph", {"photos"}},
      {"shoal train --class-weights ba", {"balanced"}},
      {"shoal train --class-weights ph", paths},
      {"shoal predict ph", paths},
      {"shoal predict photos --checkpoint ph", paths},
      {"shoal predict --checkpoint=ph", paths},
      {"shoal export x -o ph", paths},
      {"shoal bench ph", paths},
      {"shoal bench sca", {"scaling"}},
      {"shoal runs train --mod", {}},  // `train` is a folder here
      {"shoal models mobilenet_v3_l", {"mobilenet_v3_large"}},
      {"shoal config ev", {"eval"}},
      {"shoal config --optim", {"--optimizer"}},
      {"shoal completion zs", {"zsh"}},
      {"shoal completion man tr", {"train"}},
      {"shoal weights torchvision:resnet101/",
       {"torchvision:resnet101/V1", "torchvision:resnet101/V2"}},
  };
  for (const app::Option* option : app::completed_options(app::Command::train)) {
    if (option->kind == app::Kind::flag) continue;
    const bool optional = option->kind == app::Kind::optional_value;
    const app::Values values = app::values_of_option(*option);
    WordSet& words = lines["shoal train --" + option->name + (optional ? "=" : " ")];
    words = {values.words.begin(), values.words.end()};
    if (values.paths == app::Values::Paths::files) words.insert(paths.begin(), paths.end());
    if (values.paths == app::Values::Paths::folders) words.insert("photos");
  }
  return lines;
}

// Runs the shell in `folder` and returns its output.
std::string output_of(const std::filesystem::path& folder, const Words& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const test::Captured captured = test::capture([&] {
    std::filesystem::current_path(folder);
    ::setenv("HOME", folder.c_str(), 1);  // fish writes files there
    ::setenv("TERM", "dumb", 1);
    for (const char* name : {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "ZDOTDIR"}) ::unsetenv(name);
    ::execvp(arguments[0], arguments.data());
    return 127;
  });
  INFO(captured.out << "\n" << captured.err);
  CHECK(captured.code == 0);
  CHECK(captured.err.empty());
  return captured.out;
}

// A shell whose current folder has the files that `common_completions` names.
class Shell {
 public:
  Shell() {
    std::ofstream(folder() / "photo.jpg") << "x";
    std::filesystem::create_directories(folder() / "photos");
    // Write the files outside the current folder; in it, their names would be completions.
    for (const auto& [path, text] : app::manual_files("1.2.3")) {
      std::filesystem::create_directories((share() / path).parent_path());
      std::ofstream(share() / path) << text;
    }
    // fish loads the installed file only if the command exists.
    std::filesystem::create_directories(share() / "bin");
    std::filesystem::create_symlink("/bin/true", share() / "bin/shoal");
  }

  std::filesystem::path folder() const { return directory_.path(); }
  std::filesystem::path share() const { return share_.path(); }

  // Makes a shell script: `text`, then a call of `ask LINE` for each command line, then `end`.
  // $SHARE is the folder of the completions. Returns the script's path.
  std::string script(std::string text, const Completions& lines,
                     const std::string& end = "") const {
    for (const auto& [line, words] : lines) text += "ask '" + line + "'\n";
    text += end;
    for (size_t at; (at = text.find("$SHARE")) != text.npos;) text.replace(at, 6, share());
    std::ofstream(share() / "script") << text;
    return share() / "script";
  }

 private:
  test::TemporaryDirectory directory_, share_;
};

// Reads "> LINE", followed by one line per word. Removes what shells add to a word: descriptions
// after a tab, `/` after folders, `=` after options, and the option before a value.
Completions completions_in(const std::string& output) {
  Completions found;
  WordSet* words = nullptr;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("> ")) {
      words = &found[line.substr(2)];
      continue;
    }
    REQUIRE(words);
    std::string word = line.substr(0, line.find('\t'));
    const size_t equals = word.find('=');
    if (word.ends_with('/') || equals + 1 == word.size()) word.pop_back();
    if (equals < word.size() && word.starts_with("--")) word.erase(0, equals + 1);
    if (!word.empty()) words->insert(word);
  }
  return found;
}

void check_equal(const Completions& found, const Completions& expected) {
  for (const auto& [line, words] : expected) {
    INFO(line);
    REQUIRE(found.contains(line));  // the shell has answered
    CHECK(found.at(line) == words);
  }
}

constexpr const char* kBash = R"(set -u
. $SHARE/bash-completion/completions/shoal
ask() {
  COMP_LINE=$1 COMP_POINT=${#1}
  _shoal || :
  printf '%s\n' "> $1" "${COMPREPLY[@]}"
}
)";

// Completes the lines in an interactive zsh that runs in a pseudo-terminal. zsh passes all possible
// words to its builtin compadd. A function with this name writes those that match to a file, and
// then calls the builtin. loaded() replaces LOAD by commands that load the completions.
constexpr const char* kZsh = R"(
zmodload zsh/zpty
cat >$SHARE/inner <<'END'
LOAD
setopt no_beep
compadd() {
  if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
    local -a matches
    builtin compadd -A matches "$@"
    (($#matches)) && print -rl -- $matches >>$SHARE/found
  fi
  builtin compadd "$@"
}
quiet() { compstate[list]= compstate[insert]= }
answer() {
  local line
  while IFS= read -r line; do
    print -r -- "> $line" >>$SHARE/found
    BUFFER=$line CURSOR=$#line
    comppostfuncs=(quiet)
    zle list-choices
  done <$SHARE/lines
  BUFFER=exit
  zle accept-line
}
zle -N zle-line-init answer
END
ask() { print -r -- $1 >>$SHARE/lines }
)";
constexpr const char* kZshEnd = R"(
zpty inner zsh -f -i
zpty -w inner 'source $SHARE/inner'
while zpty -r inner output; do print -rn -- $output >>$SHARE/terminal; done
cat $SHARE/found
)";

constexpr const char* kFish = R"(
set -p PATH $SHARE/bin
LOAD
function ask
  echo "> $argv[1]"
  complete -C "$argv[1]"
end
)";

std::string loaded(std::string text, const std::string& load) {
  return text.replace(text.find("LOAD"), 4, load);
}

}  // namespace

TEST_CASE("bash completes commands, options, closed sets of values and files") {
  const Shell shell;
  Completions lines = common_completions();
  // bash replaces only what follows the last colon.
  lines["shoal weights torchvision:resnet101/"] = {"resnet101/V1", "resnet101/V2"};
  const std::string only_options = "shoal doctor --launcher ";  // only options can follow
  lines[only_options];
  Completions found =
      completions_in(output_of(shell.folder(), {"bash", shell.script(kBash, lines)}));
  CHECK(found[only_options].contains("--nnodes"));
  lines.erase(only_options);
  check_equal(found, lines);
}

TEST_CASE("zsh completes like bash, both with the installed file and sourced", "[shell][zsh]") {
  for (const std::string load :
       {"fpath=($SHARE/zsh/site-functions $fpath)\nautoload -Uz compinit && compinit -u -D",
        "autoload -Uz compinit && compinit -u -D\nsource $SHARE/zsh/site-functions/_shoal"}) {
    const Shell shell;
    const std::string script = shell.script(loaded(kZsh, load), common_completions(), kZshEnd);
    const std::string output = output_of(shell.folder(), {"zsh", "-f", script});
    std::stringstream terminal;
    terminal << std::ifstream(shell.share() / "terminal").rdbuf();
    INFO(load << "\n" << terminal.str());
    CHECK_THAT(terminal.str(), !Contains("_shoal:") && !Contains("_arguments:") &&
                                   !Contains("not found") && !Contains("parse error"));
    check_equal(completions_in(output), common_completions());
  }
}

TEST_CASE("fish completes like bash, both with the installed file and sourced", "[shell][fish]") {
  for (const std::string load : {"set -p fish_complete_path $SHARE/fish/vendor_completions.d",
                                 "source $SHARE/fish/vendor_completions.d/shoal.fish"}) {
    const Shell shell;
    INFO(load);
    const std::string script = shell.script(loaded(kFish, load), common_completions());
    check_equal(completions_in(output_of(shell.folder(), {"fish", "--no-config", script})),
                common_completions());
  }
}
