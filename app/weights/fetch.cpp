#include "app/weights/fetch.h"

#include <system_error>

#include "base/error.h"
#include "base/file/file_lock.h"
#include "base/file/folder.h"
#include "base/file/whole_file.h"
#include "base/format/grouped.h"
#include "base/log.h"
#include "base/net/sha256.h"
#include "base/now.h"
#include "base/secrets.h"
#include "base/text.h"

namespace shoal::app {
namespace fs = std::filesystem;

namespace {

// Shows the progress of one download.
class ProgressLine {
 public:
  ProgressLine(const std::string& name, const FetchOptions& options)
      : name_(printable(name)), options_(options) {}
  ~ProgressLine() {
    if (options_.status_line) log::status("");
  }

  void show(int64_t done, int64_t total) {
    const double time = now();
    if (first_ < 0) first_ = done;
    if (time - shown_ < (options_.status_line ? 0.1 : options_.progress_seconds)) return;
    shown_ = time;
    const double speed = megabytes(done - first_) / (time - start_);
    const std::string text = "downloading " + name_ + strf("  %.1f", megabytes(done)) +
                             (total > 0 ? strf(" of %.1f", megabytes(total)) : "") +
                             strf(" MB  %.1f MB/s", speed);
    if (options_.status_line)
      log::status(text);
    else
      log::info(text);
  }

 private:
  const std::string name_;
  const FetchOptions& options_;
  const double start_ = now();
  double shown_ = start_;
  int64_t first_ = -1;  // bytes from an interrupted download, excluded from the speed
};

class Fetch {
 public:
  Fetch(const std::string& what, const RemoteWeights& remote, const FetchOptions& options)
      : option_("--weights " + masked(what)), remote_(remote), options_(options) {}

  std::string run() {
    if (options_.cache.empty())
      throw UserError(
          option_ + ": no folder for downloads, because HOME is not set; add --weights-cache DIR");
    for (const RemoteFile& file : remote_.files)
      if (state_of(file) == State::good) return path_of(file).string();
    return download_first();
  }

 private:
  fs::path path_of(const RemoteFile& file) const { return options_.cache / file.cached; }

  // State of a file in the cache. good: it has the expected SHA-256, or no SHA-256 is known.
  enum class State { missing, damaged, good };
  State state_of(const RemoteFile& file) const {
    const fs::path path = path_of(file);
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return State::missing;
    if (file.sha256.empty()) return State::good;
    return sha256_of(path).starts_with(lower(file.sha256)) ? State::good : State::damaged;
  }

  FileLock wait_for_lock(const fs::path& path) const {
    const fs::path file = path.parent_path() / ("." + path.filename().string() + ".lock");
    try {
      return {file, path.string(), "--weights-cache", 0};
    } catch (const std::runtime_error&) {
      log::info("another process is downloading " + path.string() + "; waiting for it");
    }
    return {file, path.string(), "--weights-cache", options_.lock_seconds};
  }

  // Returns text to append to an error message if the weights' tag may be wrong, else "".
  std::string doubt() const {
    return remote_.known_tags.empty()
               ? ""
               : "; `shoal weights` does not list this tag, but " + joined(remote_.known_tags);
  }

  // Returns text to append to an error message if the file in the cache is damaged, else "".
  std::string damage() const {
    return damaged_.empty() ? ""
                            : "; the file in the cache, " + damaged_ +
                                  ", is damaged: replace it with an intact copy, or remove it and "
                                  "use --weights FILE";
  }

  // Downloads the first file that the server has.
  std::string download_first() {
    for (const RemoteFile& file : remote_.files) {
      try {
        return download_file(file);
      } catch (const HttpError& error) {
        if (error.status != 404) refuse(error);
        if (&file == &remote_.files.back())
          throw UserError(option_ + ": " + error.what() + doubt() + damage());
      }
    }
    return "";  // not reached: there is at least one file
  }

  [[noreturn]] void refuse(const HttpError& error) const {
    std::string text = option_ + ": " + error.what();
    if (remote_.from_hugging_face && (error.status == 401 || error.status == 403))
      text += "; the repository does not exist, or it needs a token with access (HF_TOKEN)";
    throw UserError(text + doubt() + damage());
  }

  std::string download_file(const RemoteFile& file) {
    const fs::path path = path_of(file);
    create_folders(path.parent_path());
    const FileLock lock = wait_for_lock(path);
    const LockFileRemoval removal(lock);
    const State state = state_of(file);
    if (state == State::good) return path.string();  // the process that had the lock has stored it
    if (state == State::damaged) damaged_ = path.string();
    ProgressLine progress(path.filename().string(), options_);
    DownloadOptions how = options_.download;
    how.sha256 = file.sha256;
    how.progress = [&progress](int64_t done, int64_t total) { progress.show(done, total); };
    if (!remote_.from_hugging_face || !file.url.starts_with("https://")) how.token.clear();
    const std::string start = option_ + ": downloading " + file.url;
    if (state == State::damaged)
      log::warning(start + " again, because the SHA-256 of " + damaged_ + " does not begin with " +
                   file.sha256);
    else
      log::info(start +
                (remote_.known_tags.empty() ? "" : ", although `shoal weights` lists no such tag"));
    try {
      const std::string digest = download(file.url, path, how);
      log::info(strf("downloaded %.1f MB to ", megabytes(fs::file_size(path))) + path.string() +
                ", SHA-256 " + digest);
    } catch (const HttpError&) {
      throw;
    } catch (const WrongDigest& error) {
      throw std::runtime_error(option_ + ": " + error.what() + damage());
    } catch (const std::system_error& error) {  // a file cannot be read or written
      throw std::runtime_error(option_ + ": " + error.what());
    } catch (const std::runtime_error& error) {
      const std::string copy =
          "; without a network, copy the file to " + path.string() + " or use --weights FILE";
      const std::string damaged = damage();
      throw std::runtime_error(option_ + ": " + error.what() + (damaged.empty() ? copy : damaged) +
                               doubt());
    }
    return path.string();
  }

  const std::string option_;
  const RemoteWeights& remote_;
  const FetchOptions& options_;
  std::string damaged_;  // path of a damaged file in the cache; empty: none was found
};

}  // namespace

std::string fetch_weights(const std::string& what, const FetchOptions& options) {
  const auto remote = remote_weights(what, options.servers);
  if (remote) return Fetch(what, *remote, options).run();
  if (what.find('/') == what.npos && !path_exists(what))
    if (const std::string near = nearest_weights(what); !near.empty())
      throw UserError("--weights " + what + ": no such file or directory; did you mean " + near +
                      "?");
  return what;
}

std::string wrong_digest_note(const std::string& path) {
  const std::string expected = digest_in_name(path);
  std::error_code error;
  if (expected.empty() || !fs::is_regular_file(path, error)) return "";
  const std::string digest = sha256_of(path);
  if (digest.starts_with(lower(expected))) return "";
  return "its contents do not match the digest in its name, " + expected +
         ": the file is damaged, or it was saved anew (its SHA-256 is " + digest + ")";
}

}  // namespace shoal::app
