#pragma once
// Values of --weights that name a download, not a local path. Does no I/O and does not use
// LibTorch.
//
//   torchvision:NAME[/VERSION]        NAME of a network; V1, V2, IMAGENET1K_V1 …; default: newest
//   timm:NAME[.TAG]                   default: the first of the model's rows in known_weights()
//   hf:OWNER/NAME[@REVISION][/FILE]   a repository on Hugging Face; default: revision main, file
//                                     model.safetensors or, if it is missing, pytorch_model.bin
//   http://…, https://…[#sha256=HEX]  a file
//
// A file's path in the cache folder is SCHEME/HOST/PATH of its URL, without login and query:
// https/download.pytorch.org/models/resnet50-11ad3fa6.pth. If the URL has a query, the file's name
// begins with a hash of the query.

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
  std::vector<RemoteFile> files;        // the first one that the server has is used
  const KnownWeights* known = nullptr;  // row of these weights in known_weights(); null: none
  bool from_hugging_face = false;
  // The tags that known_weights() lists for a network of timm, if the requested tag is not among
  // them. Otherwise empty.
  std::vector<std::string> known_tags = {};
};

// Base URLs of the publishers' servers. Tests and mirrors replace them.
struct WeightsServers {
  std::string torchvision = "https://download.pytorch.org/models";
  std::string hugging_face = "https://huggingface.co";
};

// Resolves `what`, a value of --weights. Returns nullopt if it is a path. Throws UserError if a
// name is unknown (suggests a similar one), if a name or URL is not well-formed, or if a URL's
// scheme is not http or https.
std::optional<RemoteWeights> remote_weights(const std::string& what,
                                            const WeightsServers& servers = {});

// Returns the SHA-256, or its first 8 digits, at the end of a file name in the style of torchvision
// and timm: "11ad3fa6" in "resnet50-11ad3fa6.pth". Returns "" if there is none. Ignores digits of
// other lengths (UUIDs, MD5), dates, and decimal numbers that begin with 0.
std::string digest_in_name(const std::string& path);

// Returns the known name that the user probably meant by `what`; empty if none is similar.
std::string nearest_weights(const std::string& what);

// Returns the first row of weights for the network `model`; null if there is none.
const KnownWeights* first_weights_of(const std::string& model);

// Returns the row of the weights that `what` names; null if these weights have no row. A path or
// URL that ends with the name of one of torchvision's files stands for the row of that file. Throws
// UserError like remote_weights().
const KnownWeights* find_known_weights(const std::string& what);

}  // namespace shoal::app
