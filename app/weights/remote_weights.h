#pragma once
// What --weights names, if it is not a file or folder. Does no I/O and does not use LibTorch.
//
//   torchvision:NAME[/VERSION]        NAME of a network; V1, V2, IMAGENET1K_V1 …; default: newest
//   timm:NAME[.TAG]                   default: the first of the model's rows in known_weights()
//   hf:OWNER/NAME[@REVISION][/FILE]   a repository on Hugging Face; default: model.safetensors, or
//                                     pytorch_model.bin, of main
//   http://…, https://…[#sha256=HEX]  a file
//
// A file's place in the cache folder is its URL without login, query and "//":
// https/download.pytorch.org/models/resnet50-11ad3fa6.pth. If there is a query, a hash of it comes
// before the file's name.

#include <optional>
#include <string>
#include <vector>

#include "app/weights/known_weights.h"

namespace shoal::app {

struct RemoteFile {
  std::string url;          // without fragment
  std::string cached;       // path relative to the cache folder
  std::string sha256 = {};  // the digest in hexadecimal, or its first digits; empty: unknown
};

struct RemoteWeights {
  std::vector<RemoteFile> files;        // the first that exists is used
  const KnownWeights* known = nullptr;  // row of these weights in known_weights(); null: none
  bool from_hugging_face = false;
};

// Servers by publisher. Tests and mirrors use other ones.
struct WeightsServers {
  std::string torchvision = "https://download.pytorch.org/models";
  std::string hugging_face = "https://huggingface.co";
};

// Returns nullopt for a path. Throws UserError for names that are unknown or not well-formed, and
// suggests a known one.
std::optional<RemoteWeights> remote_weights(const std::string& what,
                                            const WeightsServers& servers = {});

// Returns the known name that the user probably meant by `what`; empty if none is similar.
std::string nearest_weights(const std::string& what);

// Returns the row of the weights that `what` names, also by the file name of torchvision's weights
// in a path or URL; null if these weights have no row. Throws UserError like remote_weights().
const KnownWeights* find_known_weights(const std::string& what);

}  // namespace shoal::app
