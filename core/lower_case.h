// ASCII letters in lower case, other bytes as they are, in every locale. Pure, thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace plumbline {

constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}
std::string lower_case(std::string_view text);

}  // namespace plumbline
