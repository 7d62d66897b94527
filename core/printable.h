// Text that came from somewhere else (a host, a file, a name) made fit to be shown: without
// characters that move a cursor, colour what follows, end a line or turn the direction of writing.
// Those are C0 with ESC and DEL, C1, U+061C, U+200E/F, U+2028/9, U+202A-E, U+2066-9 and U+FEFF.
// What was there can still be read: as an escape, \\x1b or \\u202e. Pure functions, thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace plumbline {

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
// For a line of running text: as escaped(), but tabs and ends of lines become one space each.
std::string printable(std::string_view text);
// JSON text of the same meaning, with such characters as \u escapes: a file that somebody looks at
// in a terminal does no more than one that was made for it. `json` must be JSON.
std::string printable_json(std::string json);

}  // namespace plumbline
