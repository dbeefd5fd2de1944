// Manual pages in roff, with the macros of man(7).

#include "app/options/manual/completion.h"
#include "app/options/manual/help_entries.h"
#include "base/text.h"

namespace shoal::app {
namespace {

// Escapes `text` so that roff prints it unchanged.
std::string roff(const std::string& text) {
  std::string result;
  if (text.starts_with('.') || text.starts_with('\'')) result = "\\&";
  for (const char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result;
}

std::string title(const std::string& name, const std::string& version) {
  return ".\\\" Made by `shoal completion man`.\n.TH " + upper(roff(name)) + " 1 \"\" \"shoal " +
         version + "\" \"shoal manual\"\n";
}

std::string paragraph(const std::string& tag, const std::string& text) {
  return ".TP\n.B " + roff(tag) + "\n" + roff(text) + "\n";
}

// Returns the entries of --help as sections: the groups of options below OPTIONS, then recipes and
// exit codes.
std::string sections(Command command) {
  std::string text = ".SH OPTIONS\n", before;
  for (const HelpEntry& entry : help_entries(command)) {
    const bool of_options = entry.left.find("--") != entry.left.npos;
    if (entry.section != before)
      text += (of_options ? ".SS " : ".SH ") +
              (of_options ? roff(entry.section) : upper(roff(entry.section))) + "\n";
    before = entry.section;
    text += paragraph(entry.left.substr(entry.left.find_first_not_of(' ')), entry.right);
  }
  return text;
}

std::string overview_page(const std::string& version) {
  std::string text = title("shoal", version) +
                     ".SH NAME\nshoal \\- train and use image classifiers\n.SH SYNOPSIS\n.B shoal\n"
                     ".I COMMAND\n.RI [ options ]\n.SH DESCRIPTION\nTrains image classifiers "
                     "on a laptop, on several hosts or on SageMaker.\n"
                     ".SH COMMANDS\n";
  std::string see;
  for (const CommandRow& row : commands()) {
    text += paragraph(row.name, row.summary);
    see += (see.empty() ? "" : ",\n") + std::string(".BR shoal\\-") + roff(row.name) + " (1)";
  }
  return text + ".SH SEE ALSO\n" + see + "\n";
}

}  // namespace

std::string manual_page(const CommandRow* row, const std::string& version) {
  if (!row) return overview_page(version);
  return title("shoal-" + row->name, version) + ".SH NAME\nshoal\\-" + row->name + " \\- " +
         roff(row->summary) + "\n.SH SYNOPSIS\n.B shoal " + row->name + "\n" +
         roff(row->arguments) +
         "\n.SH DESCRIPTION\nAn option is written as \\-\\-name VALUE or "
         "\\-\\-name=VALUE. In names, _ and \\- are the same. \\-\\-no\\-NAME turns an option off "
         "if it can be off.\n" +
         sections(row->command) + ".SH SEE ALSO\n.BR shoal (1)\n";
}

}  // namespace shoal::app
