// Fuzzes files of settings: TOML, YAML, and timm's args.yaml. The first byte chooses the format and
// the command that reads the file.
#include "app/options/settings/config_file.h"

#include <cstdint>
#include <stdexcept>

#include "app/options/settings/settings.h"

using namespace shoal::app;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string path = data[0] % 2 == 0 ? "/run.toml" : "/run.yaml";
  const bool train = data[0] / 2 % 2 == 0;
  Files files;
  files.is_folder = [](const std::string&) { return false; };
  files.folders = [](const std::string&) { return std::vector<std::string>(); };
  files.read = [&](const std::string& name) {
    return name == path ? std::optional(text) : std::nullopt;
  };
  try {
    read_config(train ? Command::train : Command::eval, path, files);
  } catch (const shoal::UserError&) {
    return 0;
  }
  try {  // with --size on the command line, which overrides the file
    const Arguments arguments =
        gather({train ? "train" : "eval", "--config", path, "--size", "96"}, {}, files);
    requested_text(arguments);
  } catch (const shoal::UserError&) {
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
