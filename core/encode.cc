#include "core/encode.h"

#include <array>
#include <random>

namespace plumbline {
namespace {

constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint32_t kNoDigit = 64;

constexpr std::array<uint8_t, 256> kBase64Values = [] {
  std::array<uint8_t, 256> values{};
  for (uint8_t& value : values) value = kNoDigit;
  for (size_t i = 0; i < kBase64Digits.size(); ++i) {
    values[static_cast<unsigned char>(kBase64Digits[i])] = static_cast<uint8_t>(i);
  }
  return values;
}();

}  // namespace

Digest sha256(std::string_view text) { return crypto().sha256(std::as_bytes(std::span(text))); }

Digest hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message) {
  return crypto().hmac_sha256(key, message);
}

bool equal_digest(const Digest& a, const Digest& b) {
  // Volatile, so that no compiler ends the loop at the first difference.
  volatile unsigned char differs = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    differs = static_cast<unsigned char>(differs | std::to_integer<unsigned>(a[i] ^ b[i]));
  }
  return differs == 0;
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
  if (crypto().random_bytes(token)) return token;
  // It does not fail in practice; the system's own device is the second source.
  std::random_device device;
  for (std::byte& b : token) b = static_cast<std::byte>(device());
  return token;
}

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    for (size_t j = 0; j < 4; ++j) {
      out += i + j > bytes.size() ? '=' : kBase64Digits[group >> (18 - 6 * j) & 63u];
    }
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  uint32_t group = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool padded = i >= text.size() - padding;
    const uint32_t digit = padded ? 0 : kBase64Values[static_cast<unsigned char>(text[i])];
    if (digit == kNoDigit) return std::nullopt;
    group = group << 6 | digit;
    if (i % 4 != 3) continue;
    for (const unsigned shift : {16u, 8u, 0u}) out += static_cast<char>(group >> shift & 0xffu);
    group = 0;
  }
  for (; padding > 0; --padding) {
    if (out.back() != '\0') return std::nullopt;  // bits that stand for nothing
    out.pop_back();
  }
  return out;
}

// All arithmetic is modulo 2^64, so that every list of numbers survives.
std::string pack_samples(const std::vector<int64_t>& samples) {
  std::string bytes;
  uint64_t before = 0;
  for (const int64_t sample : samples) {
    const uint64_t now = static_cast<uint64_t>(sample);
    const uint64_t step = now - before;
    uint64_t left = step << 1 ^ (step >> 63 != 0 ? ~uint64_t{0} : 0);
    for (; left > 0x7f; left >>= 7) bytes += static_cast<char>(0x80 | (left & 0x7f));
    bytes += static_cast<char>(left);
    before = now;
  }
  return to_base64(bytes);
}

bool unpack_samples(std::string_view text, std::vector<int64_t>& samples) {
  const std::optional<std::string> bytes = from_base64(text);
  if (!bytes) return false;
  samples.clear();
  uint64_t before = 0, value = 0;
  unsigned shift = 0;
  for (const char c : *bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const uint64_t part = byte & 0x7fu;
    if (shift > 63 || part << shift >> shift != part) return false;  // beyond 64 bits
    value |= part << shift;
    shift += 7;
    if ((byte & 0x80u) != 0) continue;
    before += value >> 1 ^ ((value & 1) != 0 ? ~uint64_t{0} : 0);
    samples.push_back(static_cast<int64_t>(before));
    value = 0;
    shift = 0;
  }
  return shift == 0;
}

}  // namespace plumbline
