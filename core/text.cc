#include "core/text.h"

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

char fold(char c) {
  if (c == '-') return '_';
  return lower_case(c);
}

// Optimal string alignment: insert, delete, replace, and swap of two neighbours cost 1 each; case
// and '-' against '_' cost nothing.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = last[j - 1] + (fold(a[i - 1]) == fold(b[j - 1]) ? 0 : 1);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, replace});
      const bool swapped =
          i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) && fold(a[i - 2]) == fold(b[j - 1]);
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last[b.size()];
}

bool starts_with_folded(std::string_view text, std::string_view start) {
  return start.size() <= text.size() &&
         std::equal(start.begin(), start.end(), text.begin(),
                    [](char x, char y) { return fold(x) == fold(y); });
}

constexpr size_t kLongestName = 100;  // longer input is no misspelt name; keeps the cost bounded
constexpr size_t kShortestStart = 3;  // letters that must be there before a beginning is a hint

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

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = code_point(text, i);
    out.append(point.valid ? text.substr(i, point.bytes) : "?");
    i += point.bytes;
  }
  return out;
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

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower_case(c);
  return out;
}

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> out;
  while (true) {
    const size_t end = text.find(separator);
    out.emplace_back(text.substr(0, end));
    if (end == text.npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string> comma_list(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string& part : split_at(text, ',')) {
    const size_t first = part.find_first_not_of(' '), last = part.find_last_not_of(' ');
    if (first != std::string::npos) out.push_back(part.substr(first, last - first + 1));
  }
  return out;
}

std::string near_or(const std::string& name, const std::vector<std::string>& valid,
                    const std::string& otherwise) {
  const std::string near_to = nearest_name(name, valid);
  return near_to.empty() ? otherwise : "did you mean " + near_to + "?";
}

std::string hint_for(const std::string& name, const std::vector<std::string>& valid) {
  constexpr size_t kMost = 20;
  if (valid.empty()) return {};
  const std::string near_to = nearest_name(name, valid);
  if (!near_to.empty()) return fmt::format("did you mean '{}'?", near_to);
  std::string list = valid.size() == 1 ? "accepted: " : "one of: ";
  for (size_t i = 0; i < std::min(valid.size(), kMost); ++i) {
    list += (i == 0 ? "" : ", ") + valid[i];
  }
  return valid.size() > kMost ? list + " ..." : list;
}

std::string in_quotes(const std::string& text) {
  constexpr size_t kMost = 60;
  std::string out = "'";
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x7f ? '?' : c;
  }
  return out + (text.size() > kMost ? "...'" : "'");
}

std::string nearest_name(std::string_view name, std::span<const std::string> valid) {
  if (name.empty() || name.size() > kLongestName) return {};
  // A third of the letters may be wrong: one in "smu", three in "chunksbyts".
  const size_t allowed = std::max<size_t>(1, name.size() / 3);
  const std::string* best = nullptr;
  size_t best_distance = allowed + 1;
  for (const std::string& candidate : valid) {
    const size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best != nullptr) return *best;
  if (name.size() < kShortestStart) return {};
  for (const std::string& candidate : valid) {
    if (starts_with_folded(candidate, name)) return candidate;
  }
  return {};
}

}  // namespace plumbline
