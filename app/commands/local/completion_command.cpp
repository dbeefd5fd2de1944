// shoal completion: prints shell completions and manual pages.
#include <filesystem>

#include "app/commands/local/local_commands.h"
#include "app/options/manual/completion.h"
#include "app/platform/failure.h"
#include "app/version.h"
#include "base/file/whole_file.h"
#include "base/log.h"

namespace shoal::app {
namespace {

void write_all_files(const std::filesystem::path& folder) {
  for (const auto& [path, text] : manual_files(kVersion)) {
    create_folders((folder / "share" / path).parent_path());
    // Does not flush the files to disk, because a build or package can write them again.
    write_whole(folder / "share" / path, text, {.flush = false});
  }
}

std::string printed(const std::vector<std::string>& words) {
  const std::string what = words.empty() ? "" : words[0];
  if (what == "bash") return bash_completion();
  if (what == "zsh") return zsh_completion();
  if (what == "fish") return fish_completion();
  if (what == "man")
    return manual_page(words.size() > 1 ? &row_of(require_command(words[1])) : nullptr, kVersion);
  if (what == "all" && words.size() == 1)
    throw UserError("completion all needs a folder: the files go to DIR/share");
  throw UserError("usage: shoal completion " + row_of(Command::completion).arguments);
}

}  // namespace

int completion_command(const Call& call) {
  const std::vector<std::string>& words = call.arguments.paths;
  if (words.size() == 2 && words[0] == "all") {
    write_all_files(words[1]);
    return kOk;
  }
  std::string text = printed(words);
  text.pop_back();  // line() adds the last line break
  log::line(text);
  return kOk;
}

}  // namespace shoal::app
