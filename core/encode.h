// Bytes as text: hex, base64 (RFC 4648, section 4: what JSON carries that is no text), and lists of
// samples. And what stands for bytes: SHA-256 and HMAC-SHA256, and cryptographic random ones, as
// core/crypto.h has them. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/crypto.h"

namespace plumbline {

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

std::string to_base64(std::string_view bytes);
// Nothing of a text that is not exactly what to_base64() gives.
std::optional<std::string> from_base64(std::string_view text);

// ---- samples as short text: base64 of the differences from one sample to the next (the first one:
// from 0), each as a zigzag varint (0, -1, 1, -2 ... become 0, 1, 2, 3 ...; seven bits a byte,
// lowest first, the highest bit set where more follow). docs/record_format.md tells how others read
// it ----

std::string pack_samples(const std::vector<int64_t>& samples);
// False, with rubbish in `samples`, for a text that is no such list.
bool unpack_samples(std::string_view text, std::vector<int64_t>& samples);

}  // namespace plumbline
