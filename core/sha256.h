// SHA-256 and HMAC-SHA256 (FIPS 180-4, RFC 2104) through libcrypto, and cryptographic random bytes.
// Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace plumbline {

using Digest = std::array<std::byte, 32>;

Digest sha256(std::string_view text);
Digest hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message);
// Compares in constant time.
bool equal_digest(const Digest& a, const Digest& b);
// Lower-case hex of any bytes.
std::string to_hex(std::span<const std::byte> bytes);
// Reverse of to_hex; empty result when the text is not hex of `bytes.size()` bytes -> false.
bool from_hex(std::string_view text, std::span<std::byte> bytes);
// 32 fresh random bytes of the system's generator: a run token.
Digest random_token();

}  // namespace plumbline
