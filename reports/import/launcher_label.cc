#include "reports/import/launcher_label.h"

#include <algorithm>

namespace plumbline {
namespace {

constexpr std::string_view kDigits = "0123456789";

// How many digits stand here.
size_t digits_at(std::string_view text, size_t at) {
  const size_t end = std::min(text.find_first_not_of(kDigits, at), text.size());
  return at < text.size() ? end - at : 0;
}

// The length of "0:", with or without a blank behind it, right-aligned with blanks.
size_t number_and_colon(std::string_view line) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const size_t colon = begin + digits_at(line, begin);
  if (colon == begin || colon >= line.size() || line[colon] != ':') return 0;
  if (colon + 1 == line.size()) return line.size();
  return line[colon + 1] == ' ' ? colon + 2 : 0;
}

// The length of "[1,0]<stdout>:" or "[job@1,0]<stderr>: ", a blank behind it included.
size_t tag(std::string_view line) {
  const size_t close = line.find("]<");
  if (line.empty() || line[0] != '[' || close == std::string_view::npos) return 0;
  const size_t comma = line.substr(0, close).rfind(',');
  if (comma == std::string_view::npos || digits_at(line, comma + 1) != close - comma - 1) return 0;
  for (const std::string_view stream : {"<stdout>:", "<stderr>:", "<stddiag>:"}) {
    const size_t end = close + 1 + stream.size();
    if (line.substr(close + 1, stream.size()) != stream) continue;
    return end < line.size() && line[end] == ' ' ? end + 1 : end;
  }
  return 0;
}

// The length of "[0] ".
size_t number_in_brackets(std::string_view line) {
  if (line.empty() || line[0] != '[') return 0;
  const size_t close = 1 + digits_at(line, 1);
  if (close == 1 || close >= line.size() || line[close] != ']') return 0;
  if (close + 1 == line.size()) return line.size();
  return line[close + 1] == ' ' ? close + 2 : 0;
}

}  // namespace

std::string_view take_launcher_label(std::string_view& line) {
  for (const auto form : {number_and_colon, tag, number_in_brackets}) {
    const size_t length = form(line);
    if (length == 0) continue;
    std::string_view label = line.substr(0, length);
    line.remove_prefix(length);
    while (!label.empty() && label.back() == ' ') label.remove_suffix(1);
    return label;
  }
  return {};
}

}  // namespace plumbline
