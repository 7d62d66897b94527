// SHA-256 (FIPS 180-4), HMAC-SHA256 (RFC 2104) and the system's random bytes, in two makes: through
// libcrypto, which uses what the processor has for them, and our own, for a program that shall need
// no library (macOS). The option PLUMBLINE_OPENSSL says which one a build uses; core/encode.h is
// what callers take. Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace plumbline {

using Digest = std::array<std::byte, 32>;

// SHA-256 of bytes that come in parts. Not thread-safe.
class Sha256Stream {
 public:
  virtual ~Sha256Stream() = default;
  virtual void add(std::span<const std::byte> part) = 0;
  // Nothing may be added afterwards.
  virtual Digest end() = 0;
};

struct Crypto {
  // Of the library, for lists of versions; empty = it is our own code.
  std::string (*version)();
  Digest (*sha256)(std::span<const std::byte> message);
  Digest (*hmac_sha256)(std::span<const std::byte> key, std::span<const std::byte> message);
  std::unique_ptr<Sha256Stream> (*start_sha256)();
  // False: the generator gave none.
  bool (*random_bytes)(std::span<std::byte> bytes);
};

// What this build uses.
const Crypto& crypto();
// Our own; there in every build, so that it is tested beside the other one.
const Crypto& own_crypto();

}  // namespace plumbline
