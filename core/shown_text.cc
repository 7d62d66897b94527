#include "core/shown_text.h"

#include <fmt/format.h>

namespace plumbline {
namespace {

struct CodePoint {
  size_t bytes = 1;
  char32_t value = 0;
  bool valid = false;
};

// The code point that starts at `i`; one invalid byte where there is no well-formed UTF-8.
CodePoint decode(std::string_view text, size_t i) {
  const auto first = static_cast<unsigned char>(text[i]);
  if (first < 0x80) return {1, first, true};
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || i + length > text.size()) return {1, first, false};
  char32_t value = first & (0xFFU >> (length + 1));
  for (size_t k = 1; k < length; ++k) {
    const auto next = static_cast<unsigned char>(text[i + k]);
    if ((next & 0xC0U) != 0x80U) return {1, first, false};
    value = (value << 6) | (next & 0x3FU);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (overlong || surrogate || value > 0x10FFFF) return {1, first, false};
  return {length, value, true};
}

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF;
}

}  // namespace

std::string shown(std::string_view text, std::string_view keep) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = decode(text, i);
    const bool kept = point.valid && point.bytes == 1 && keep.find(text[i]) != keep.npos;
    if (kept || (point.valid && !is_control(point.value))) {
      out += text.substr(i, point.bytes);
    } else if (point.value < 0x100) {
      out += fmt::format("\\x{:02x}", static_cast<uint32_t>(point.value));
    } else {
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(point.value));
    }
    i += point.bytes;
  }
  return out;
}

std::string shown_short(std::string_view text, size_t most) {
  if (text.size() <= most) return shown(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return shown(text.substr(0, most)) + "...";
}

}  // namespace plumbline
