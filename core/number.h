// Numbers in text, the one way that they are read: the whole text is the number, and nothing stands
// around it, or it is none. And doubles as whole numbers. Pure functions, thread-safe.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace plumbline {

// The whole number at the start of `text`, whatever follows: "4711 (python3)" -> 4711.
template <typename T = int64_t>
std::optional<T> leading_whole(std::string_view text, int base = 10, const char** stop = nullptr) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (problem != std::errc()) return std::nullopt;
  if (stop != nullptr) *stop = end;
  return value;
}

// A whole number from `least` to `most`; in another base without a "0x" in front.
template <typename T = int64_t>
std::optional<T> parse_whole(std::string_view text, T least = std::numeric_limits<T>::min(),
                             T most = std::numeric_limits<T>::max(), int base = 10) {
  const char* end = nullptr;
  const std::optional<T> value = leading_whole<T>(text, base, &end);
  const bool whole = value && end == text.data() + text.size();
  return whole && *value >= least && *value <= most ? value : std::nullopt;
}

template <typename T = uint32_t>
std::optional<T> parse_hex(std::string_view text) {
  return parse_whole<T>(text, 0, std::numeric_limits<T>::max(), 16);
}

// A TCP or UDP port, 1 to 65535.
inline std::optional<int> parse_port(std::string_view text) {
  return parse_whole<int>(text, 1, 65535);
}

// The plain decimal number without sign ("12", "1.5", ".5", "1e6") at the start of `text`, which is
// shortened by it; nothing where none stands, or one that no double holds.
std::optional<double> take_decimal(std::string_view& text);
// A plain decimal number, with a sign or without; never "inf", "nan" or "0x10".
std::optional<double> parse_decimal(std::string_view text);

// ---- a plain cast of what is too large, or is no number, is undefined ----

// Cut off towards zero; the nearest that there is for what is too large; 0 for what is no number.
inline int64_t whole_number_of(double number) {
  using Limits = std::numeric_limits<int64_t>;
  constexpr double kEnd = 9223372036854775808.0;  // 2^63, the first one too large
  if (number != number) return 0;
  if (number >= kEnd) return Limits::max();
  return number < -kEnd ? Limits::min() : static_cast<int64_t>(number);
}

// First and last of each run of neighbours, ascending, each number once: 7, 1, 2, 3 gives 1-3, 7-7.
std::vector<std::pair<int, int>> runs_of(std::vector<int> numbers);

}  // namespace plumbline
