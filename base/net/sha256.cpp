#include "base/net/sha256.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <new>
#include <system_error>
#include <vector>

#include "base/file/descriptor.h"
#include "base/text.h"

namespace shoal {

std::string sha256_of(const std::filesystem::path& file) {
  const auto fail = [&] {
    throw std::system_error(errno, std::generic_category(), "cannot read " + file.string());
  };
  const Descriptor opened = open_file(file.c_str(), O_RDONLY);
  if (!opened.is_open()) fail();
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> sum(EVP_MD_CTX_new(),
                                                                    EVP_MD_CTX_free);
  // OpenSSL's functions for SHA-256 fail only if memory is short.
  if (!sum || EVP_DigestInit_ex(sum.get(), EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
  std::vector<char> buffer(1 << 18);
  for (;;) {
    const ssize_t count = ::read(opened.number(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail();
    if (count == 0) break;
    EVP_DigestUpdate(sum.get(), buffer.data(), static_cast<size_t>(count));
  }
  std::array<unsigned char, 32> digest{};
  EVP_DigestFinal_ex(sum.get(), digest.data(), nullptr);
  std::string text;
  for (const unsigned char byte : digest) text += strf("%02x", byte);
  return text;
}

}  // namespace shoal
