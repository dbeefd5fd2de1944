#pragma once
// Downloads the weights that --weights names into a cache folder.

#include <filesystem>
#include <string>

#include "app/weights/remote_weights.h"
#include "base/net/download.h"

namespace shoal::app {

struct FetchOptions {
  std::filesystem::path cache;  // folder; created if needed. Empty: none, an error if one is needed
  WeightsServers servers;
  // Its `sha256` and `progress` are not used. `token` is sent only to Hugging Face, over https.
  DownloadOptions download;
  bool status_line = false;     // shows progress as log::status(), else as messages
  double progress_seconds = 5;  // between two messages
  double lock_seconds = 7200;   // limit for waiting while another process downloads the same file
};

// Returns the path of the weights: `what` itself if it is a path, else that of the file in the
// cache (remote_weights.h). Downloads the file if it is missing or does not have the expected
// SHA-256. If several processes call this at the same time, one downloads and the others wait for
// it.
//
// Throws UserError if `what` is unknown or the server has no such file, std::runtime_error if the
// download fails. The message of the latter names the URL and the path to which the user can copy
// the file by hand.
std::string fetch_weights(const std::string& what, const FetchOptions& options);

}  // namespace shoal::app
