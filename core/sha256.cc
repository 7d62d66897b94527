#include "core/sha256.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <random>

namespace plumbline {
namespace {

unsigned char* bytes_of(Digest& digest) { return reinterpret_cast<unsigned char*>(digest.data()); }

}  // namespace

Digest sha256(std::string_view text) {
  Digest digest{};
  unsigned int length = 0;
  EVP_Digest(text.data(), text.size(), bytes_of(digest), &length, EVP_sha256(), nullptr);
  return digest;
}

Digest hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message) {
  Digest digest{};
  unsigned int length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(), bytes_of(digest),
       &length);
  return digest;
}

bool equal_digest(const Digest& a, const Digest& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string to_hex(std::span<const std::byte> bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte b : bytes) {
    const auto value = std::to_integer<unsigned>(b);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

bool from_hex(std::string_view text, std::span<std::byte> bytes) {
  if (text.size() != bytes.size() * 2) return false;
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  return true;
}

Digest random_token() {
  Digest token{};
  if (RAND_bytes(bytes_of(token), static_cast<int>(token.size())) == 1) return token;
  // libcrypto's generator cannot fail in practice; the system's own device is the second source.
  std::random_device device;
  for (std::byte& b : token) b = static_cast<std::byte>(device());
  return token;
}

}  // namespace plumbline
