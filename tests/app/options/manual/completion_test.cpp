#include "app/options/manual/completion.h"

#include <catch2/catch.hpp>
#include <set>
#include <sstream>

#include "app/options/recipes.h"
#include "models/catalogue.h"

using namespace shoal;
using app::Command;
using Catch::Contains;

TEST_CASE("zsh completion escapes the colons in the actions of options") {
  std::istringstream lines(app::zsh_completion());
  int found = 0;
  for (std::string line; std::getline(lines, line);) {
    const size_t action = line.find("{_alternative");
    if (action == line.npos || line.find("'-") == line.npos) continue;
    ++found;
    for (size_t at = line.find(':', action); at != line.npos; at = line.find(':', at + 1))
      CHECK(line[at - 1] == '\\');
  }
  CHECK(found >= 4);  // --weights, --classes, …
}

TEST_CASE("all completions and manual pages contain every option of every command") {
  const std::string bash = app::bash_completion(), zsh = app::zsh_completion(),
                    fish = app::fish_completion();
  for (const app::CommandRow& row : app::commands()) {
    const std::string page = app::manual_page(&row, "1.2.3");
    CHECK_THAT(page, Contains(".TH SHOAL\\-") && Contains(".SH NAME") && Contains("shoal 1.2.3"));
    CHECK_THAT(app::manual_page(nullptr, "1.2.3"), Contains(".B " + row.name + "\n"));
    const size_t in_bash = bash.find("\n    " + row.name + ")\n"),
                 in_zsh = zsh.find("\n    " + row.name + ")\n");
    REQUIRE((in_bash != bash.npos && in_zsh != zsh.npos));
    for (const app::Option* option : app::completed_options(row.command)) {
      INFO(row.name << " --" << option->name);
      const std::string names = bash.substr(in_bash, bash.find("\n      case", in_bash) - in_bash);
      CHECK_THAT(names, Contains("--" + option->name + " ") || Contains("--" + option->name + "'"));
      CHECK(zsh.find("'--" + option->name, in_zsh) < zsh.find("\n      ;;", in_zsh));
      CHECK_THAT(fish, Contains("_command " + row.name + "' -l " + option->name + " "));
      std::string name = option->name;
      for (size_t at = 0; (at = name.find('-', at)) != name.npos; at += 2) name.insert(at, "\\");
      if (row.command != Command::config)
        CHECK_THAT(page, Contains(name + "\n") || Contains(name + " "));
    }
  }
}

TEST_CASE("options offer their choices, models, recipes and literal words of the placeholder") {
  const auto values = [](const char* name) {
    return app::values_of_option(*app::find_option(Command::train, name));
  };
  CHECK(values("model").words == models::names());
  CHECK(values("recipe").words.size() == app::recipes().size() + 2);
  CHECK(values("nproc").words == std::vector<std::string>{"auto"});
  CHECK(values("class-weights").words == std::vector<std::string>{"balanced"});
  CHECK(values("class-weights").paths == app::Values::Paths::files);
  CHECK(values("output").paths == app::Values::Paths::folders);
  CHECK(values("lr").words.empty());
  CHECK(values("config").paths == app::Values::Paths::files);
}

TEST_CASE("lines of a manual page are requests of man(7) or text") {
  const std::set<std::string> known = {".TH", ".SH", ".SS", ".TP",  ".B",
                                       ".I",  ".RI", ".BR", ".\\\""};
  std::istringstream page(app::manual_page(&app::row_of(Command::train), "1.2.3"));
  for (std::string line; std::getline(page, line);) {
    INFO(line);
    if (line.starts_with('.')) CHECK(known.contains(line.substr(0, line.find(' '))));
    CHECK_FALSE(line.starts_with('\''));
    CHECK_FALSE(line.empty());
  }
}
