#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "core/json_scan.h"
#include "core/text.h"

namespace plumbline {
namespace {

constexpr size_t kMostShown = 40;  // letters of a word in a message
constexpr const char* kComments = "a comment is written // to the end of the line, or /* */";
constexpr const char* kBothQuotes = "write \" on both of its sides";

bool begins_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
bool is_number(std::string_view text) {
  const auto digits = [&text] {
    const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(end);
    return end > 0;
  };
  const auto skip = [&text](std::string_view any) {
    if (text.empty() || any.find(text.front()) == std::string_view::npos) return false;
    text.remove_prefix(1);
    return true;
  };
  skip("-");
  if (!skip("0") && !digits()) return false;
  if (skip(".") && !digits()) return false;
  if (skip("eE")) {
    skip("+-");
    if (!digits()) return false;
  }
  return text.empty();
}

void advance(JsonSpot& spot, char c) {
  spot.column = c == '\n' ? 1 : spot.column + 1;
  spot.line += c == '\n' ? 1 : 0;
}

}  // namespace

bool is_json_word(char c) {
  return begins_word(c) || (c >= '0' && c <= '9') || c == '.' || c == '+' || c == '-';
}

std::string json_word_shown(std::string_view word) {
  return "'" + escaped_short(word, kMostShown) + "'";
}

bool JsonLexer::fault(size_t at, std::string what, std::string hint) {
  JsonSpot spot;
  for (const char c : text_.substr(0, at)) advance(spot, c);
  out_.faults.push_back({spot, "", std::move(what), std::move(hint)});
  out_.broken = true;
  return false;
}

size_t JsonLexer::line_of(size_t at) const {
  const std::string_view before = text_.substr(0, at);
  return 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
}

JsonSpot JsonLexer::spot_here(size_t at) {
  for (; counted_ < at; ++counted_) advance(spot_, text_[counted_]);
  return spot_;
}

std::string JsonLexer::last_shown() const {
  return escaped_short(text_.substr(last_.begin, last_.end - last_.begin), kMostShown);
}

bool JsonLexer::space() {
  while (!at_end()) {
    const char c = here();
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      ++at_;
    } else if (c == '#') {
      return fault(at_, "'#' begins no comment here", kComments);
    } else if (c != '/') {
      return true;
    } else if (!comment()) {
      return false;
    }
  }
  return true;
}

bool JsonLexer::comment() {
  const std::string_view two = text_.substr(at_, 2);
  if (two == "//") {
    at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
    return true;
  }
  if (two != "/*") return fault(at_, "a single '/' begins no comment", kComments);
  const size_t end = text_.find("*/", at_ + 2);
  if (end == std::string_view::npos) {
    return fault(at_, "this comment is never closed", "write */ where it ends");
  }
  at_ = end + 2;
  return true;
}

std::string_view JsonLexer::word(size_t at) const {
  size_t end = at;
  while (end < text_.size() && is_json_word(text_[end])) ++end;
  return text_.substr(at, end - at);
}

bool JsonLexer::four_digits(size_t at, unsigned& value) const {
  const std::string_view digits = text_.substr(std::min(at, text_.size()), 4);
  const auto is_hex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  if (digits.size() < 4 || !std::all_of(digits.begin(), digits.end(), is_hex)) return false;
  value = static_cast<unsigned>(std::strtoul(std::string(digits).c_str(), nullptr, 16));
  return true;
}

// What the backslash at `at` begins; moves `at` behind it.
bool JsonLexer::escape(size_t& at) {
  constexpr std::string_view kPlain = "\"\\/bfnrt";
  const char c = at + 1 < text_.size() ? text_[at + 1] : ' ';
  if (kPlain.find(c) != std::string_view::npos) {
    at += 2;
    return true;
  }
  unsigned first = 0, second = 0;
  if (c != 'u' || !four_digits(at + 2, first)) {
    return fault(
        at, fmt::format("{} is no escape", json_word_shown(text_.substr(at, c == 'u' ? 6 : 2))),
        "a backslash itself is written \\\\, a character by its number as \\u00e9");
  }
  const bool high = first >= 0xd800 && first <= 0xdbff, low = first >= 0xdc00 && first <= 0xdfff;
  const bool pair = high && text_.substr(std::min(at + 6, text_.size()), 2) == "\\u" &&
                    four_digits(at + 8, second) && second >= 0xdc00 && second <= 0xdfff;
  if (low || (high && !pair)) {
    return fault(at, fmt::format("{} is half a character", json_word_shown(text_.substr(at, 6))),
                 "write the character itself, as UTF-8");
  }
  at += pair ? 12 : 6;
  return true;
}

bool JsonLexer::string(std::string& content) {
  const size_t begin = at_;
  size_t at = at_ + 1;
  while (at < text_.size() && text_[at] != '"' && text_[at] != '\n' && text_[at] != '\r') {
    const auto c = static_cast<unsigned char>(text_[at]);
    if (c == '\\') {
      if (!escape(at)) return false;
    } else if (c < 0x20) {
      return fault(at, fmt::format("a control character ({:#04x}) within a text", c),
                   "write it as an escape, such as \\t or \\u0001");
    } else {
      ++at;
    }
  }
  if (at >= text_.size() || text_[at] != '"') {
    return fault(begin, "the quote that closes this text is missing",
                 "write \" where it ends; a text stands on one line");
  }
  content = text_.substr(begin + 1, at - begin - 1);
  take(begin, at + 1);
  return true;
}

bool JsonLexer::scalar() {
  const std::string_view token = word(at_);
  if (token == "true" || token == "false" || token == "null") {
    take(at_, at_ + token.size());
    return true;
  }
  const std::string small = lower_case(token);
  const std::string bare = small[0] == '-' || small[0] == '+' ? small.substr(1) : small;
  if (bare == "nan" || bare == "inf" || bare == "infinity") {
    return fault(at_, fmt::format("JSON has no {}", json_word_shown(token)), kJsonNumbers);
  }
  if (!begins_word(token[0])) return number(token);
  if (at_ + token.size() < text_.size() && text_[at_ + token.size()] == '"') {
    return fault(at_, fmt::format("the quote before {} is missing", json_word_shown(token)),
                 "write \" there");
  }
  const std::array<std::string, 3> literals = {"true", "false", "null"};
  const std::string near = nearest_name(small == "none" ? "null" : small, literals);
  return fault(
      at_, fmt::format("{} is not in double quotes", json_word_shown(token)),
      near.empty() ? "a text stands between two \"" : fmt::format("did you mean {}?", near));
}

bool JsonLexer::number(std::string_view token) {
  if (!is_number(token)) {
    return fault(at_, json_word_shown(token) + " is no number", kJsonNumbers);
  }
  if (!std::isfinite(std::strtod(std::string(token).c_str(), nullptr))) {
    return fault(at_, json_word_shown(token) + " is too large a number",
                 "numbers must fit into 64 bits");
  }
  take(at_, at_ + token.size());
  return true;
}

bool JsonLexer::odd() {
  const CodePoint point = code_point(text_, at_);
  constexpr std::array<char32_t, 10> kOther = {U'\'',  U'`',   0x2018, 0x2019, 0x201a,
                                               0x201c, 0x201d, 0x201e, 0xab,   0xbb};
  const std::string shown = json_word_shown(text_.substr(at_, point.bytes));
  if (std::find(kOther.begin(), kOther.end(), point.value) != kOther.end()) {
    return fault(at_, fmt::format("a text stands in double quotes, not in {}", shown), kBothQuotes);
  }
  return fault(at_, fmt::format("{} does not belong here", shown),
               "a value is a text in double quotes, a number, true, false, null, [...] or {...}");
}

}  // namespace plumbline
