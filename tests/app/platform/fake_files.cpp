#include "tests/app/platform/fake_files.h"

namespace shoal::test {

app::Files fake(const std::vector<std::string>& folders,
                const std::map<std::string, std::string>& files) {
  std::set<std::string> all;
  const auto add = [&all](std::string path) {
    while (path.size() > 1) {
      all.insert(path);
      path.resize(path.rfind('/'));
    }
  };
  for (const std::string& folder : folders) add(folder);
  for (const auto& [path, content] : files) add(path.substr(0, path.rfind('/')));
  app::Files result;
  result.is_folder = [all](const std::string& path) { return all.contains(path); };
  result.folders = [all](const std::string& path) {
    std::vector<std::string> names;
    for (const std::string& folder : all) {
      if (folder.starts_with(path + "/") && folder.find('/', path.size() + 1) == folder.npos)
        names.push_back(folder.substr(path.size() + 1));
    }
    return names;
  };
  result.read = [files](const std::string& path) -> std::optional<std::string> {
    const auto file = files.find(path);
    if (file == files.end()) return std::nullopt;
    return file->second;
  };
  return result;
}

}  // namespace shoal::test
