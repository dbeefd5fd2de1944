#include "train/weights/formats/torch_file.h"

#include "train/weights/formats/parse_file.h"
#include "train/weights/formats/state_dict.h"
#include "train/weights/formats/torch_tensor.h"

namespace shoal::train {

StateDict read_torch_file(const std::vector<char>& bytes, const std::string& where,
                          const std::string& entry) {
  return parse_file(where, kTorchSaveFile, [&] {
    TorchArchive file(bytes);
    const StoredStateDict found = find_state_dict(file, entry);
    return StateDict{found.entry, found.averaged, found.arch, copied_tensors(found.tensors)};
  });
}

}  // namespace shoal::train
