#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "core/crypto.h"

namespace plumbline {
namespace {

unsigned char* raw(std::span<std::byte> bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

std::string openssl_version() { return OpenSSL_version(OPENSSL_VERSION); }

Digest openssl_sha256(std::span<const std::byte> message) {
  Digest digest{};
  unsigned int length = 0;
  EVP_Digest(message.data(), message.size(), raw(digest), &length, EVP_sha256(), nullptr);
  return digest;
}

Digest openssl_hmac(std::span<const std::byte> key, std::span<const std::byte> message) {
  Digest digest{};
  unsigned int length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(), raw(digest),
       &length);
  return digest;
}

class OpensslStream final : public Sha256Stream {
 public:
  OpensslStream() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }
  void add(std::span<const std::byte> part) override {
    EVP_DigestUpdate(context_.get(), part.data(), part.size());
  }
  Digest end() override {
    Digest digest{};
    unsigned int length = 0;
    EVP_DigestFinal_ex(context_.get(), raw(digest), &length);
    return digest;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

std::unique_ptr<Sha256Stream> openssl_start() { return std::make_unique<OpensslStream>(); }

bool openssl_random(std::span<std::byte> bytes) {
  return RAND_bytes(raw(bytes), static_cast<int>(bytes.size())) == 1;
}

}  // namespace

const Crypto& crypto() {
  static constexpr Crypto kOpenssl{openssl_version, openssl_sha256, openssl_hmac, openssl_start,
                                   openssl_random};
  return kOpenssl;
}

}  // namespace plumbline
