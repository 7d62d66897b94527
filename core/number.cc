#include "core/number.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

namespace plumbline {
namespace {

// Length of the plain decimal number at the start of `text`, 0 when there is none.
size_t number_length(std::string_view text) {
  const auto skip_digits = [&](size_t at) {
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at;
  };
  size_t end = skip_digits(0);
  size_t digits = end;
  if (end < text.size() && text[end] == '.') {
    const size_t fraction = end + 1;
    end = skip_digits(fraction);
    digits += end - fraction;
  }
  if (digits == 0) return 0;
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    if (skip_digits(exponent) > exponent) end = skip_digits(exponent);
  }
  return end;
}

}  // namespace

// Apple's libc++ has no std::from_chars for double.
std::optional<double> take_decimal(std::string_view& text) {
  const size_t length = number_length(text);
  if (length == 0) return std::nullopt;
  const double number = std::strtod(std::string(text.substr(0, length)).c_str(), nullptr);
  if (!std::isfinite(number)) return std::nullopt;
  text.remove_prefix(length);
  return number;
}

std::optional<double> parse_decimal(std::string_view text) {
  const bool minus = !text.empty() && text.front() == '-';
  if (minus || (!text.empty() && text.front() == '+')) text.remove_prefix(1);
  const std::optional<double> number = take_decimal(text);
  if (!number || !text.empty()) return std::nullopt;
  return minus ? -*number : *number;
}

std::vector<std::pair<int, int>> runs_of(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<std::pair<int, int>> runs;
  for (const int number : numbers) {
    if (!runs.empty() && number == runs.back().second + 1) {
      runs.back().second = number;
    } else {
      runs.emplace_back(number, number);
    }
  }
  return runs;
}

}  // namespace plumbline
