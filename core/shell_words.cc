#include "core/shell_words.h"

#include <algorithm>

namespace plumbline {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./:=,+@%").find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string shell_word(std::string_view text) {
  const auto odd = std::find_if_not(text.begin(), text.end(), is_plain);
  if (!text.empty() && odd == text.end()) return std::string(text);
  // --option='its value': the option stays as it is known.
  const size_t equals = text.find('=');
  const bool option = text.substr(0, 2) == "--" && equals < static_cast<size_t>(odd - text.begin());
  if (!option) return shell_quoted(text);
  return std::string(text.substr(0, equals + 1)) + shell_quoted(text.substr(equals + 1));
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    const bool first = line.empty();
    if (!first) line += ' ';
    line += !first && word == "!" ? word : shell_word(word);  // it negates only as the first word
  }
  return line;
}

}  // namespace plumbline
