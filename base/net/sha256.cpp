#include "base/net/sha256.h"

#include <fcntl.h>
#include <openssl/evp.h>

#include <memory>
#include <new>
#include <vector>

#include "base/file/descriptor.h"
#include "base/text.h"

namespace shoal {
namespace {

// A digest that is being computed. OpenSSL's functions for SHA-256 fail only if memory is short.
class Digest {
 public:
  Digest() : state_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    if (!state_ || EVP_DigestInit_ex(state_.get(), EVP_sha256(), nullptr) != 1)
      throw std::bad_alloc();
  }
  void add(std::string_view bytes) { EVP_DigestUpdate(state_.get(), bytes.data(), bytes.size()); }
  Sha256 finish() {
    Sha256 digest{};
    EVP_DigestFinal_ex(state_.get(), digest.data(), nullptr);
    return digest;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> state_;
};

}  // namespace

Sha256 sha256_of_bytes(std::string_view bytes) {
  Digest digest;
  digest.add(bytes);
  return digest.finish();
}

std::string sha256_of(const std::filesystem::path& file) {
  const Descriptor opened = open_file(file.c_str(), O_RDONLY);
  if (!opened.is_open()) throw_file_error("read", file);
  Digest digest;
  std::vector<char> buffer(1 << 18);
  for (;;) {
    const int64_t count = read_some(opened.number(), buffer.data(), buffer.size());
    if (count < 0) throw_file_error("read", file);
    if (count == 0) break;
    digest.add({buffer.data(), static_cast<size_t>(count)});
  }
  std::string text;
  for (const uint8_t byte : digest.finish()) text += strf("%02x", byte);
  return text;
}

}  // namespace shoal
