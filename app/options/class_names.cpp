#include "app/options/class_names.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file/whole_file.h"

namespace shoal::app {

std::vector<std::string> read_class_names(const std::string& path, const std::string& other) {
  std::vector<std::string> names;
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error))
    names = read_lines(path);
  std::erase(names, "");
  if (names.empty())
    throw UserError("--classes " + path + ": it must be " + other +
                    " or a file with one class name per line");
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) throw UserError("--classes " + path + " names '" + *twice + "' twice");
  return names;
}

void count_classes(train::Job& job) {
  if (!job.classes_file.empty())
    job.classes = std::ssize(read_class_names(job.classes_file, "a number"));
}

}  // namespace shoal::app
