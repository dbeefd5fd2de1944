#include "base/net/download.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "base/file/descriptor.h"
#include "base/file/whole_file.h"
#include "base/format/grouped.h"
#include "base/log.h"
#include "base/net/http_get.h"
#include "base/net/sha256.h"
#include "base/now.h"
#include "base/secrets.h"
#include "base/text.h"

namespace shoal {
namespace fs = std::filesystem;

namespace {

// A connection that delivers this many bytes resets the count of retries.
constexpr int64_t kProgressBytes = 1'000'000;

// One download, over one or more connections.
class Download {
 public:
  Download(const std::string& url, const fs::path& path, const DownloadOptions& options)
      : url_(url),
        path_(path),
        part_(path.parent_path() / ("." + path.filename().string() + ".part")),
        etag_file_(path.parent_path() / ("." + path.filename().string() + ".etag")),
        options_(options) {}

  std::string run() {
    open_part();
    double pause = options_.retry_seconds;
    int64_t furthest = have_;  // largest have_ of earlier attempts; repeated bytes are no progress
    for (int failures = 0;;) {
      const std::string problem = connect_once();
      if (problem.empty()) break;
      if (have_ - furthest >= kProgressBytes) failures = 0, pause = options_.retry_seconds;
      furthest = std::max(furthest, have_);
      if (++failures > options_.retries) throw std::runtime_error(sentence(problem));
      log::info(sentence(problem) +
                strf("; trying again from %.1f MB", validator_.empty() ? 0 : megabytes(have_)));
      std::this_thread::sleep_for(std::chrono::duration<double>(pause));
      pause *= 2;
    }
    return finish();
  }

 private:
  std::string sentence(const std::string& problem) const {
    return "cannot download " + masked(url_) + ": " + problem;
  }

  // Opens .NAME.part. (write_whole() would delete the partial file when the connection breaks.)
  // Uses existing bytes only if there is a .NAME.etag, with which the server can check that they
  // are still valid.
  void open_part() {
    part_file_ = open_file(part_.c_str(), O_RDWR | O_CREAT);
    if (!part_file_.is_open()) throw_file_error("write", path_);
    std::error_code missing;
    if (fs::exists(etag_file_, missing)) {
      const std::vector<char> bytes = read_whole_file(etag_file_);
      validator_.assign(bytes.begin(), bytes.end());
    }
    if (validator_.find_first_of("\r\n") != validator_.npos) validator_.clear();
    have_ = validator_.empty() ? 0 : ::lseek(part_file_.number(), 0, SEEK_END);
    if (have_ < 0) throw_file_error("write", path_);
  }

  // Receives until the file is complete or the connection ends. Returns an empty text if the file
  // is complete. If the connection failed and a retry may succeed, returns the reason. Throws if a
  // retry would not help.
  std::string connect_once() {
    if (validator_.empty()) have_ = 0;
    refusal_.clear(), write_error_ = 0;
    body_begun_ = stalled_ = changed_ = false;
    last_change_ = now();
    HttpGet request{url_, options_.token, options_.certificates, options_.connect_seconds};
    request.offset = have_;
    request.if_range = validator_;
    request.take = [this](const HttpResponse& response, const char* bytes, size_t size) {
      return take(response, bytes, size);
    };
    request.keep_going = [this] { return !is_stalled(); };
    const HttpResult result = http_get(request);
    linked_sha256_ = result.response.linked_sha256;
    return judge(result);
  }

  // Interprets the result of one connection. Returns or throws as connect_once() does.
  std::string judge(const HttpResult& result) {
    using End = HttpResult::End;
    const int status = result.response.status;
    const bool whole = result.end == End::complete && (status == 200 || status == 206);
    if (whole && !body_begun_) take(result.response, "", 0);  // an empty file
    if (write_error_ != 0) {
      ::unlink(part_.c_str());  // frees the space, because the disk may be full
      throw_file_error("write", path_, write_error_);
    }
    if (!refusal_.empty()) throw std::runtime_error(sentence(refusal_));
    if (changed_) {
      validator_.clear();
      return "the file changed on the server";
    }
    if (whole && have_ < total_) return "the server sent fewer bytes than the file has";
    if (whole) return "";
    if (status == 416 && have_ > 0) {
      if (result.response.range_total == have_) return "";
      validator_.clear();
      return "the server has fewer bytes than were received before";
    }
    if (result.end == End::complete || (result.end == End::refused && status > 0)) {
      const std::string answer = strf("the server answers with HTTP status %d", status);
      if (status == 408 || status == 429 || status >= 500) return answer;
      throw HttpError(sentence(answer), status);
    }
    const std::string problem =
        stalled_ ? strf("no data for %g s", options_.stall_seconds) : result.problem;
    // Does not retry if no byte has been received yet: the machine is probably offline.
    const bool worked = received_ > 0;
    if (!worked || result.end == End::forbidden) throw std::runtime_error(sentence(problem));
    return problem;
  }

  bool refuse(const std::string& reason) {
    refusal_ = reason;
    return false;
  }

  // Decides whether the body continues the bytes of .NAME.part or replaces them. Returns false if
  // the response is unusable.
  bool begin_body(const HttpResponse& response) {
    body_begun_ = true;
    if (response.type.starts_with("text/html"))
      return refuse("the server sent a web page instead of a file");
    if (response.status == 206) {
      if (response.range_begin != have_)
        return refuse("the server sent other bytes than those that were requested");
      const std::string validator = response.validator();
      if (!validator.empty() && validator != validator_) {  // the server ignored If-Range
        changed_ = true;
        return false;
      }
      total_ = response.range_total;
    } else {
      have_ = 0;
      total_ = response.length;
      validator_ = response.validator();
      if (::ftruncate(part_file_.number(), 0) != 0) write_error_ = errno;
      save_validator();
    }
    if (::lseek(part_file_.number(), have_, SEEK_SET) < 0) write_error_ = errno;
    if (total_ > options_.max_bytes)
      return refuse(strf("the file has %.1f GB, more than the limit of %.1f GB", gigabytes(total_),
                         gigabytes(options_.max_bytes)));
    return write_error_ == 0;
  }

  void save_validator() {
    std::error_code error;
    fs::remove(etag_file_, error);
    // Not flushed: if a crash loses this file, the download starts from the beginning.
    if (!validator_.empty()) write_whole(etag_file_, validator_, {.flush = false});
  }

  bool take(const HttpResponse& response, const char* bytes, size_t size) {
    try {
      if (!body_begun_ && !begin_body(response)) return false;
    } catch (const std::system_error& error) {  // must not pass through libcurl
      write_error_ = error.code().value();
      return false;
    }
    if (have_ + static_cast<int64_t>(size) > options_.max_bytes)
      return refuse(
          strf("the file has more than the limit of %.1f GB", gigabytes(options_.max_bytes)));
    write_error_ = write_all(part_file_.number(), bytes, size);
    if (write_error_ != 0) return false;
    have_ += static_cast<int64_t>(size);
    received_ += static_cast<int64_t>(size);
    last_change_ = now();
    if (options_.progress) options_.progress(have_, total_);
    return true;
  }

  bool is_stalled() {
    stalled_ = now() - last_change_ > options_.stall_seconds;
    return stalled_;
  }

  // Checks the complete file and renames it to path_. Returns its SHA-256.
  std::string finish() {
    if (const int error = flush_file(part_file_.number())) throw_file_error("write", path_, error);
    if (const int error = part_file_.close()) throw_file_error("write", path_, error);
    std::error_code ignored;
    fs::remove(etag_file_, ignored);
    const std::string digest = sha256_of(part_);
    const std::string expected = options_.sha256.empty() ? linked_sha256_ : lower(options_.sha256);
    if (!digest.starts_with(expected)) {
      fs::remove(part_, ignored);
      throw WrongDigest(sentence(
          "the SHA-256 of the received file is " + digest + ", but it should " +
          (expected.size() < 64 ? "begin with " : "be ") + expected + "; the file was removed"));
    }
    move_into_place(part_, path_);
    return digest;
  }

  const std::string url_;
  const fs::path path_, part_, etag_file_;
  const DownloadOptions& options_;
  Descriptor part_file_;
  int64_t have_ = 0;      // valid bytes in .NAME.part
  int64_t received_ = 0;  // bytes received by this object, over all connections
  int64_t total_ = 0;     // size of the file; 0: unknown
  // ETag or Last-Modified of the partly received file; empty: the download cannot be resumed.
  std::string validator_;
  std::string linked_sha256_;  // see HttpResponse

  // State of the current connection.
  bool body_begun_ = false;  // begin_body() was called
  std::string refusal_;      // why the response is unusable; empty: it is usable
  int write_error_ = 0;      // errno
  bool stalled_ = false, changed_ = false;
  double last_change_ = 0;  // now() when the connection started or last received bytes
};

}  // namespace

std::string download(const std::string& url, const fs::path& path, const DownloadOptions& options) {
  return Download(url, path, options).run();
}

}  // namespace shoal
