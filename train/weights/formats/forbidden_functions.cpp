#include "train/weights/formats/forbidden_functions.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace shoal::train {
namespace {

using Kind = PickleValue::Kind;

constexpr size_t kShownBytes = 200;    // bytes of a name in messages
constexpr size_t kMaxVisits = 200000;  // values that are searched for the entry's name

// Modules of which everything is forbidden, also in their submodules.
constexpr std::string_view kModules[] = {"_ctypes",    "_pickle", "_posixsubprocess",
                                         "_socket",    "ctypes",  "importlib",
                                         "marshal",    "nt",      "os",
                                         "pickle",     "posix",   "pty",
                                         "runpy",      "shutil",  "socket",
                                         "subprocess", "sys"};

// Forbidden functions of modules that are not in kModules. The standard library's module `code` is
// not in kModules, because a module of another project may have the same name.
constexpr std::string_view kFunctions[] = {"_io.FileIO",
                                           "_io.open",
                                           "codecs.open",
                                           "io.FileIO",
                                           "io.open",
                                           "cProfile.run",
                                           "code.interact",
                                           "bdb.Bdb.run",
                                           "cProfile.runctx",
                                           "commands.getoutput",
                                           "commands.getstatusoutput",
                                           "operator.attrgetter",
                                           "operator.methodcaller",
                                           "pdb.run",
                                           "pkgutil.resolve_name",
                                           "pydoc.locate",
                                           "profile.run",
                                           "timeit.timeit",
                                           "torch.hub.load",
                                           "urllib.request.urlopen",
                                           "webbrowser.open",
                                           "numpy.testing._private.utils.runstring"};

// Forbidden functions of Python 2 and 3 without a module.
constexpr std::string_view kBuiltins[] = {
    "__import__", "apply",   "breakpoint", "compile", "delattr", "eval",      "exec",    "execfile",
    "file",       "globals", "input",      "locals",  "open",    "raw_input", "setattr", "vars"};

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

// Returns "module name" as "module.name".
std::string dotted(std::string_view text) {
  std::string name(text);
  std::ranges::replace(name, ' ', '.');
  return name;
}

// `module`: without underscores around it, so "builtin" stands for Python 2's __builtin__.
bool is_builtin(std::string_view module) {
  return module == "builtins" || module == "builtin";
}

bool is_getattr(std::string_view text) {
  return text == "builtins getattr" || text == "__builtin__ getattr";
}

// Returns the part before the first dot, without underscores around it. So `_os` counts as `os`: a
// module that imports `os` may offer it under that name (random._os).
std::string_view first_part(std::string_view path) {
  path = path.substr(0, path.find('.'));
  path.remove_prefix(std::min(path.find_first_not_of('_'), path.size()));
  return path.substr(0, path.find_last_not_of('_') + 1);
}

std::string_view after_first_part(std::string_view path) {
  return path.substr(std::min(path.find('.'), path.size() - 1) + 1);
}

// Whether `path`, such as "builtins.eval", is a forbidden function, an attribute of one, or the
// module `builtins`.
bool begins_with_function(std::string_view path) {
  const std::string_view module = first_part(path), rest = after_first_part(path);
  const std::string_view name = rest.substr(0, rest.find('.'));
  if (is_builtin(module))
    return rest.empty() || rest.starts_with("getattr") || contains(kBuiltins, name);
  return std::ranges::any_of(kFunctions, [&](std::string_view function) {
    return path.starts_with(function) &&
           (path.size() == function.size() || path[function.size()] == '.');
  });
}

// Whether a function is forbidden. `text`: "module name". The name may lead through other modules:
// "torch.serialization os.system". Not for getattr: is_member() decides which calls of getattr are
// allowed.
bool is_forbidden(const std::string& text) {
  const std::string path = dotted(text);
  const auto is_module = [](std::string_view part) {
    return contains(kModules, part) || contains(kModules, first_part(part));
  };
  if (is_module(path.substr(0, path.find('.'))) || begins_with_function(path)) return true;
  std::string_view name =
      std::string_view(text).substr(std::min(text.find(' '), text.size() - 1) + 1);
  for (; !name.empty(); name = after_first_part(name))
    if (is_module(name.substr(0, name.find('.'))) || begins_with_function(name)) return true;
  return false;
}

// Whether `call`, a call of getattr, looks up an enum's member or a method: getattr(CLASS, "NAME")
// or getattr(OBJECT, "NAME"). Python pickles both in this way. NAME must not be a module: modules
// that import os have an attribute os.
bool is_member(const PickleValue& call) {
  return call.kind == Kind::call && call.items.size() == 2 &&
         (call.items[0]->kind == Kind::name || call.items[0]->kind == Kind::call) &&
         call.items[1]->kind == Kind::text && !call.items[1]->text.empty() &&
         call.items[1]->text[0] != '_' && call.items[1]->text != "builtins" &&
         !contains(kModules, call.items[1]->text);
}

bool is_forbidden(const PickleValue& value) {
  if (value.kind == Kind::text || value.text.empty()) return false;
  if (is_getattr(value.text)) return value.kind != Kind::name && !is_member(value);
  return is_forbidden(value.text);
}

// Whether `from` contains a forbidden value with this text. Visits at most `visits` values, because
// values may contain one another.
bool leads_to(const PickleValue& from, const std::string& text, size_t& visits) {
  std::vector<const PickleValue*> open = {&from};
  while (!open.empty()) {
    const PickleValue& value = *open.back();
    open.pop_back();
    if (value.text == text && is_forbidden(value)) return true;
    if (value.items.size() > visits) return false;
    visits -= value.items.size();
    open.insert(open.end(), value.items.begin(), value.items.end());
  }
  return false;
}

// Returns the key of the entry that contains a forbidden value with this text; empty if none was
// found. Finds no values in attributes of objects, because Pickle drops attributes.
std::string entry_with(const std::string& text, const PickleValue& root) {
  size_t visits = kMaxVisits;
  for (size_t i = 0; root.kind == Kind::dict && i + 1 < root.items.size(); i += 2)
    if (leads_to(*root.items[i + 1], text, visits)) return root.items[i]->text;
  return "";
}

}  // namespace

void refuse_forbidden_functions(const Pickle& pickle) {
  for (const PickleValue& value : pickle.values()) {
    if (!is_forbidden(value)) continue;
    const std::string entry = entry_with(value.text, pickle.root()).substr(0, kShownBytes);
    throw UserError("refers to the function " + dotted(value.text).substr(0, kShownBytes) +
                    (entry.empty() ? "" : " in its entry '" + entry + "'") +
                    ", with which hostile files run code in Python; get weights from a source "
                    "that you trust");
  }
}

}  // namespace shoal::train
