#include "core/printable.h"

#include <array>

namespace plumbline {
namespace {

struct Interval {
  char32_t first, last;
};
// Ascending.
constexpr std::array kControls = {Interval{0, 0x1F},        Interval{0x7F, 0x9F},
                                  Interval{0x61C, 0x61C},   Interval{0x200E, 0x200F},
                                  Interval{0x2028, 0x202E}, Interval{0x2066, 0x2069}};

unsigned char byte_at(std::string_view text, size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// Of the basic plane, where all of them lie.
std::string json_escape(char32_t value) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out = "\\u";
  for (const int shift : {12, 8, 4, 0}) out += kDigits[(value >> shift) & 0xFU];
  return out;
}

}  // namespace

CodePoint code_point(std::string_view text, size_t at) {
  const unsigned char first = byte_at(text, at);
  if (first < 0x80) return {1, first, true};
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + length > text.size()) return {};
  char32_t value = first & (0xFFU >> (length + 1));
  for (size_t k = 1; k < length; ++k) {
    const unsigned char next = byte_at(text, at + k);
    if ((next & 0xC0U) != 0x80U) return {};
    value = (value << 6) | (next & 0x3FU);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (overlong || surrogate || value > 0x10FFFF) return {};
  return {length, value, true};
}

bool is_control(char32_t value) {
  for (const Interval& interval : kControls) {
    if (value <= interval.last) return value >= interval.first;
  }
  return false;
}

bool is_printable(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = code_point(text, i);
    if (!point.valid || is_control(point.value)) return false;
    i += point.bytes;
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = code_point(text, i);
    if (!point.valid) {
      out += '?';
    } else if (is_control(point.value)) {
      out += ' ';
    } else {
      out += text.substr(i, point.bytes);
    }
    i += point.bytes;
  }
  return out;
}

std::string printable_json(std::string json) {
  std::string out;
  size_t done = 0;  // up to here it is in `out`
  for (size_t i = 0; i < json.size();) {
    // Most text is ASCII; its control characters but DEL are escaped in JSON or lie between tokens.
    if (byte_at(json, i) < 0x7F) {
      ++i;
      continue;
    }
    const CodePoint point = code_point(json, i);
    if (point.valid && is_control(point.value)) {
      out.append(json, done, i - done);
      out += json_escape(point.value);
      done = i + point.bytes;
    }
    i += point.bytes;
  }
  if (done == 0) return json;
  return out.append(json, done);
}

}  // namespace plumbline
