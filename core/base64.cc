#include "core/base64.h"

#include <array>
#include <cstddef>
#include <cstdint>

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

}  // namespace plumbline
