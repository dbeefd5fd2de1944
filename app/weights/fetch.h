#pragma once
// Downloads the weights that --weights names into a cache folder, and checks digests.

#include <filesystem>
#include <string>

#include "app/weights/remote_weights.h"
#include "base/net/download.h"

namespace shoal::app {

struct FetchOptions {
  std::filesystem::path cache;  // folder, created if needed; empty: only local paths are accepted
  WeightsServers servers;
  // download.sha256 and download.progress are ignored. download.token is sent only to Hugging Face,
  // over https.
  DownloadOptions download;
  bool status_line = false;     // shows progress in the status line instead of log lines
  double progress_seconds = 5;  // time between two progress messages
  double lock_seconds = 7200;   // limit for waiting while another process downloads the same file
};

// Returns the path of the weights: `what` itself if it is a path, else the path of the file in the
// cache (remote_weights.h). Downloads the file if it is missing or does not have the expected
// SHA-256. If several processes need the same file, one downloads it and the others wait.
//
// Throws UserError if `what` is unknown or the server answers with an error such as 404;
// std::runtime_error if the received file has another SHA-256, or if the download fails otherwise.
// The message also contains advice:
//   * If the file in the cache has another SHA-256 than expected, the message says what to do with
//     it. Otherwise, after a network failure, it names the path to which the user can copy the
//     file by hand.
//   * If `what` has a tag (timm:NAME.TAG) that `shoal weights` does not list for this model, the
//     message names the listed tags, unless a file with another SHA-256 was received.
std::string fetch_weights(const std::string& what, const FetchOptions& options);

// Returns a warning if `path` is a file that does not match the digest in its name
// (digest_in_name()), otherwise "". The caller prints the path and a colon before the warning.
// Throws std::system_error if the file cannot be read.
std::string wrong_digest_note(const std::string& path);

}  // namespace shoal::app
