#include "app/commands/inputs/output_file.h"

#include <system_error>

#include "base/error.h"
#include "train/checkpoint/checkpoint_listing.h"
#include "train/job/job.h"

namespace shoal::app {
namespace fs = std::filesystem;

void require_no_checkpoint(const fs::path& file) {
  const fs::path folder = fs::absolute(file).lexically_normal().parent_path();
  if (!train::parse_checkpoint_name(file.stem())) return;
  std::error_code none;
  if (folder.filename() == train::kCheckpointsFolder ||
      fs::exists(folder / train::kManifestFile, none))
    throw UserError("--output " + file.string() +
                    " is a checkpoint of a run, which needs it for --resume; choose another file");
}

void require_not_input(const fs::path& file, const fs::path& input) {
  std::error_code none;
  if (fs::equivalent(file, input, none))
    throw UserError("--output " + file.string() + " is the input " + input.string() +
                    ", which would be replaced; choose another file");
}

}  // namespace shoal::app
