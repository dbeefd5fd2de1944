// Fuzzes JSON from the platform: hyperparameters and the files of a training container. The first
// byte chooses the file or variable, or the functions that decode a single value.
#include "app/options/settings/settings.h"

#include <cstdint>
#include <stdexcept>

#include "app/options/settings/encodings.h"

using namespace shoal;
using namespace shoal::app;

namespace {

constexpr const char* kFiles[] = {"hyperparameters.json", "inputdataconfig.json",
                                  "checkpointconfig.json"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t choice = data[0] % 8;
  dist::Variables environment;
  if (choice == 3) environment["SM_HPS"] = text;
  if (choice == 4) environment["SM_CHANNELS"] = text;
  if (choice == 5) environment["SM_HP_lr-decay-epochs"] = text;
  Files files;
  files.is_folder = [](const std::string& path) { return path.ends_with("input/config"); };
  files.folders = [](const std::string&) { return std::vector<std::string>{"train"}; };
  files.read = [&](const std::string& path) -> std::optional<std::string> {
    if (choice < 3 && path.ends_with(kFiles[choice])) return text;
    return std::nullopt;
  };
  try {
    if (choice >= 6) {
      decoded(text);
      joined_list(text, choice == 6 ? "," : ",:");
    } else {
      const Arguments arguments = gather({"train"}, environment, files);
      asked_text(arguments);
      command_text(arguments);
    }
  } catch (const UserError&) {
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
