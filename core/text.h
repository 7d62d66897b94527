// Text for people. What came from somewhere else (a host, a file, a name) is made fit to be shown:
// without characters that move a cursor, colour what follows, end a line or turn the direction of
// writing. Those are C0 with ESC and DEL, C1, U+061C, U+200E/F, U+2028/9, U+202A-E, U+2066-9 and
// U+FEFF. What was there can still be read: as an escape, \\x1b or \\u202e. And what a message
// about a wrong name says beside it. Pure functions, thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

// ASCII, whatever the locale says.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_alnum(char c) { return is_digit(c) || is_letter(c); }

struct CodePoint {
  size_t bytes = 1;
  char32_t value = 0;
  bool valid = false;
};
// The code point that starts at `at`; one byte, and not valid, when it is not well-formed UTF-8.
CodePoint code_point(std::string_view text, size_t at);

// One of the characters above.
bool is_control(char32_t value);
// Well-formed UTF-8 without such a character.
bool is_printable(std::string_view text);
// Such characters and bytes that are no UTF-8 become escapes; those in `keep` stay.
std::string escaped(std::string_view text, std::string_view keep = {});
// The same, cut at about `most` bytes: for one value in a line.
std::string escaped_short(std::string_view text, size_t most = 80);
// Every byte that is no UTF-8 becomes a '?', all else stays: for what is written as JSON.
std::string valid_utf8(std::string_view text);
// For a line of running text: as escaped(), but tabs and ends of lines become one space each.
std::string printable(std::string_view text);
// JSON text of the same meaning, with such characters as \u escapes: a file that somebody looks at
// in a terminal does no more than one that was made for it. `json` must be JSON.
std::string printable_json(std::string json);

// ---- ASCII letters in lower case, other bytes as they are, in every locale ----

constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}
std::string lower_case(std::string_view text);

// Between the separators, empty ones too; one at least.
std::vector<std::string> split_at(std::string_view text, char separator);
// Between commas, without blanks around them; empty ones are left out: "a, b," -> "a", "b".
std::vector<std::string> comma_list(std::string_view text);

// ---- what a message about a wrong name says ----

// The valid name closest to `name` by edit distance, or empty when none is near.
std::string nearest_name(std::string_view name, std::span<const std::string> valid);
// "did you mean 'x'?" when one is near, else "one of: a, b, c" (the first 20).
std::string hint_for(const std::string& name, const std::vector<std::string>& valid);
// "did you mean x?" when one is near, else `otherwise`.
std::string near_or(const std::string& name, const std::vector<std::string>& valid,
                    const std::string& otherwise);
// Text of unknown origin, quoted, on one line, cut to a readable length.
std::string in_quotes(const std::string& text);

}  // namespace plumbline
