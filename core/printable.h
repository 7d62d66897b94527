// Text that came from somewhere else (a host, a file, a name) made fit to be shown: without
// characters that move a cursor, colour what follows, end a line or turn the direction of writing.
// Those are C0 with ESC and DEL, C1, U+061C, U+200E/F, U+2028/9, U+202A-E and U+2066-9. Pure
// functions, thread-safe.
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
// The code point that starts at `at`; one invalid byte when it is not well-formed UTF-8.
CodePoint code_point(std::string_view text, size_t at);

// One of the characters above.
bool is_control(char32_t value);
// Well-formed UTF-8 without such a character.
bool is_printable(std::string_view text);
// Such characters become one space each, bytes that are no UTF-8 a "?".
std::string printable(std::string_view text);
// JSON text of the same meaning, with such characters as \u escapes: a file that somebody looks at
// in a terminal does no more than one that was made for it. `json` must be JSON.
std::string printable_json(std::string json);

}  // namespace plumbline
