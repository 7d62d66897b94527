#include "core/record/json_slices.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "core/lower_case.h"

namespace plumbline {
namespace {

constexpr int kDeepest = 64;  // a record has 6

constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// Reads forward through a text. Every step returns false when something else stands there.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  size_t at() const { return at_; }
  bool done() const { return at_ >= text_.size(); }

  void space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // A string with its quotes.
  bool string(std::string_view& content) {
    if (!take('"')) return false;
    const size_t begin = at_;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '"') {
        content = text_.substr(begin, at_ - begin);
        ++at_;
        return true;
      }
    }
    return false;
  }

  // Any value: up to the comma or bracket behind it.
  bool value(std::string_view& content) {
    const size_t begin = at_;
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        std::string_view inner;
        if (!string(inner)) return false;
        continue;
      }
      if (c == '{' || c == '[') {
        if (++depth > kDeepest) return false;
      } else if (c == '}' || c == ']') {
        if (depth == 0) break;
        --depth;
      } else if (c == ',' && depth == 0) {
        break;
      }
      ++at_;
    }
    size_t end = at_;
    while (end > begin && is_space(text_[end - 1])) --end;
    content = text_.substr(begin, end - begin);
    return depth == 0 && !content.empty();
  }

  // A whole number as JSON writes it (no 007), and not the beginning of another kind.
  template <typename T>
  bool integer(T& number) {
    const char* begin = text_.data() + at_;
    const size_t digits = at_ + (at_ < text_.size() && text_[at_] == '-' ? 1 : 0);
    const auto is_digit = [&](size_t at) {
      return at < text_.size() && text_[at] >= '0' && text_[at] <= '9';
    };
    if (is_digit(digits) && text_[digits] == '0' && is_digit(digits + 1)) return false;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
    if (error != std::errc()) return false;
    at_ += static_cast<size_t>(end - begin);
    return at_ >= text_.size() || (text_[at_] != '.' && text_[at_] != 'e' && text_[at_] != 'E');
  }

  // [ element , element ... ]
  template <typename Element>
  bool list(const Element& element) {
    if (!take('[')) return false;
    space();
    if (take(']')) return true;
    do {
      space();
      if (!element()) return false;
      space();
    } while (take(','));
    return take(']');
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

bool split_object(std::string_view text, std::vector<JsonMember>& members) {
  members.clear();
  Cursor cursor(text);
  cursor.space();
  if (!cursor.take('{')) return false;
  cursor.space();
  if (!cursor.take('}')) {
    do {
      JsonMember member;
      cursor.space();
      if (!cursor.string(member.key)) return false;
      cursor.space();
      if (!cursor.take(':')) return false;
      cursor.space();
      if (!cursor.value(member.value)) return false;
      members.push_back(member);
    } while (cursor.take(','));
    if (!cursor.take('}')) return false;
  }
  cursor.space();
  return cursor.done();
}

bool read_integer(std::string_view text, int64_t& out) {
  Cursor cursor(text);
  return cursor.integer(out) && cursor.done();
}

bool read_integer(std::string_view text, uint64_t& out) {
  Cursor cursor(text);
  return cursor.integer(out) && cursor.done();
}

bool read_integers(std::string_view text, std::vector<int64_t>& out) {
  out.clear();
  Cursor cursor(text);
  return cursor.list([&] { return cursor.integer(out.emplace_back()); }) && cursor.done();
}

bool read_integer_pairs(std::string_view text, std::vector<std::pair<uint32_t, uint64_t>>& out) {
  out.clear();
  Cursor cursor(text);
  const auto pair = [&] {
    auto& [first, second] = out.emplace_back();
    if (!cursor.take('[')) return false;
    cursor.space();
    if (!cursor.integer(first)) return false;
    cursor.space();
    if (!cursor.take(',')) return false;
    cursor.space();
    if (!cursor.integer(second)) return false;
    cursor.space();
    return cursor.take(']');
  };
  return cursor.list(pair) && cursor.done();
}

std::optional<std::string> without_nonfinite(std::string_view text) {
  constexpr std::array<std::string_view, 4> kWords = {"nan", "inf", "infinity", "1.#inf"};
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '+' || c == '.' ||
           c == '#';
  };
  std::string out;
  bool found = false;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    if (text[at] == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
      at = std::min(at + 1, text.size());
    } else if (is_word(text[at])) {
      while (at < text.size() && is_word(text[at])) ++at;
      std::string word = lower_case(text.substr(begin, at - begin));
      if (word.front() == '-' || word.front() == '+') word.erase(0, 1);
      if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) {
        out += "null";
        found = true;
        continue;
      }
    } else {
      ++at;
    }
    out += text.substr(begin, at - begin);
  }
  if (!found) return std::nullopt;
  return out;
}

}  // namespace plumbline
