#include "core/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace plumbline {
namespace {

struct Interval {
  char32_t first, last;
};
// Ascending.
constexpr std::array kControls = {Interval{0, 0x1F},        Interval{0x7F, 0x9F},
                                  Interval{0x61C, 0x61C},   Interval{0x200E, 0x200F},
                                  Interval{0x2028, 0x202E}, Interval{0x2066, 0x2069},
                                  Interval{0xFEFF, 0xFEFF}};

unsigned char byte_at(std::string_view text, size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// "\x1b", "\u202e": all of them lie in the basic plane.
std::string escape(char32_t value) {
  const auto number = static_cast<uint32_t>(value);
  return value < 0x100 ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{:04x}", number);
}

bool ends_or_indents_a_line(char32_t value) { return value >= '\t' && value <= '\r'; }

}  // namespace

CodePoint code_point(std::string_view text, size_t at) {
  const unsigned char first = byte_at(text, at);
  if (first < 0x80) return {1, first, true};
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + length > text.size()) return {1, first, false};
  char32_t value = first & (0xFFU >> (length + 1));
  for (size_t k = 1; k < length; ++k) {
    const unsigned char next = byte_at(text, at + k);
    if ((next & 0xC0U) != 0x80U) return {1, first, false};
    value = (value << 6) | (next & 0x3FU);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (overlong || surrogate || value > 0x10FFFF) return {1, first, false};
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

std::string escaped(std::string_view text, std::string_view keep) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = code_point(text, i);
    const bool kept = point.valid && point.bytes == 1 && keep.find(text[i]) != keep.npos;
    if (kept || (point.valid && !is_control(point.value))) {
      out += text.substr(i, point.bytes);
    } else {
      out += escape(point.value);
    }
    i += point.bytes;
  }
  return out;
}

std::string escaped_short(std::string_view text, size_t most) {
  if (text.size() <= most) return escaped(text);
  while (most > 0 && (byte_at(text, most) & 0xC0U) == 0x80U) --most;
  return escaped(text.substr(0, most)) + "...";
}

std::string printable(std::string_view text) {
  std::string one_line(text);
  std::replace_if(one_line.begin(), one_line.end(), ends_or_indents_a_line, ' ');
  return escaped(one_line);
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
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(point.value));
      done = i + point.bytes;
    }
    i += point.bytes;
  }
  if (done == 0) return json;
  return out.append(json, done);
}

}  // namespace plumbline
