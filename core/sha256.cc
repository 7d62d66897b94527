// Our own SHA-256 and HMAC, word for word as FIPS 180-4 and RFC 2104 have them, and getentropy(2).
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "core/crypto.h"

namespace plumbline {
namespace {

constexpr size_t kShaBlock = 64;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr uint32_t kShaConstants[] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

uint32_t word_at(const std::byte* bytes) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) word = word << 8 | std::to_integer<uint32_t>(bytes[i]);
  return word;
}

class Sha256 final : public Sha256Stream {
 public:
  void add(std::span<const std::byte> bytes) override {
    length_ += bytes.size();
    while (!bytes.empty()) {
      if (held_ == 0 && bytes.size() >= kShaBlock) {
        take(bytes.data());
        bytes = bytes.subspan(kShaBlock);
        continue;
      }
      const size_t part = std::min(bytes.size(), kShaBlock - held_);
      std::memcpy(block_.data() + held_, bytes.data(), part);
      held_ += part;
      bytes = bytes.subspan(part);
      if (held_ < kShaBlock) return;
      take(block_.data());
      held_ = 0;
    }
  }

  Digest end() override {
    constexpr size_t kLengthAt = kShaBlock - sizeof(uint64_t);
    const uint64_t bits = length_ * 8;
    block_[held_++] = std::byte{0x80};
    if (held_ > kLengthAt) {
      std::fill(block_.begin() + static_cast<std::ptrdiff_t>(held_), block_.end(), std::byte{});
      take(block_.data());
      held_ = 0;
    }
    std::fill(block_.begin() + static_cast<std::ptrdiff_t>(held_), block_.end(), std::byte{});
    for (size_t i = 0; i < sizeof bits; ++i) {
      block_[kLengthAt + i] = static_cast<std::byte>(bits >> (56 - 8 * i) & 0xff);
    }
    take(block_.data());
    Digest digest{};
    for (size_t i = 0; i < digest.size(); ++i) {
      digest[i] = static_cast<std::byte>(state_[i / 4] >> (24 - 8 * (i % 4)) & 0xff);
    }
    return digest;
  }

 private:
  // Section 6.2.2.
  void take(const std::byte* block) {
    std::array<uint32_t, 64> words{};
    for (size_t i = 0; i < 16; ++i) words[i] = word_at(block + 4 * i);
    for (size_t i = 16; i < words.size(); ++i) {
      const uint32_t x = words[i - 15], y = words[i - 2];
      words[i] = words[i - 16] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ x >> 3) + words[i - 7] +
                 (std::rotr(y, 17) ^ std::rotr(y, 19) ^ y >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (size_t i = 0; i < words.size(); ++i) {
      const uint32_t one = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                           ((e & f) ^ (~e & g)) + kShaConstants[i] + words[i];
      const uint32_t two =
          (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + one;
      d = c;
      c = b;
      b = a;
      a = one + two;
    }
    const std::array<uint32_t, 8> step = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < step.size(); ++i) state_[i] += step[i];
  }

  // The same of the square roots of the first eight primes.
  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, kShaBlock> block_{};
  size_t held_ = 0;  // bytes of block_
  uint64_t length_ = 0;
};

std::string no_library() { return {}; }

Digest own_sha256(std::span<const std::byte> message) {
  Sha256 hash;
  hash.add(message);
  return hash.end();
}

Digest own_hmac(std::span<const std::byte> key, std::span<const std::byte> message) {
  std::array<std::byte, kShaBlock> inner{}, outer{};
  Digest hashed{};
  if (key.size() > kShaBlock) {
    hashed = own_sha256(key);
    key = hashed;
  }
  std::copy(key.begin(), key.end(), inner.begin());
  outer = inner;
  for (std::byte& b : inner) b ^= std::byte{0x36};
  for (std::byte& b : outer) b ^= std::byte{0x5c};
  Sha256 first, second;
  first.add(inner);
  first.add(message);
  const Digest of_message = first.end();
  second.add(outer);
  second.add(of_message);
  return second.end();
}

std::unique_ptr<Sha256Stream> own_start() { return std::make_unique<Sha256>(); }

bool own_random(std::span<std::byte> bytes) {
  constexpr size_t kMostAtOnce = 256;  // getentropy(2)
  while (!bytes.empty()) {
    const size_t part = std::min(bytes.size(), kMostAtOnce);
    if (getentropy(bytes.data(), part) != 0) return false;
    bytes = bytes.subspan(part);
  }
  return true;
}

}  // namespace

const Crypto& own_crypto() {
  static constexpr Crypto kOwn{no_library, own_sha256, own_hmac, own_start, own_random};
  return kOwn;
}

}  // namespace plumbline
