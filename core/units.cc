#include "core/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <initializer_list>

#include "core/number.h"

namespace plumbline {
namespace {

struct Suffix {
  std::string_view text;
  double factor;
};
constexpr std::array kByteSuffixes = {
    Suffix{"", 1.0},
    Suffix{"Ki", 1024.0},
    Suffix{"Mi", 1024.0 * 1024},
    Suffix{"Gi", 1024.0 * 1024 * 1024},
    Suffix{"Ti", 1024.0 * 1024 * 1024 * 1024},
    // As nccl-tests writes them.
    Suffix{"K", 1024.0},
    Suffix{"k", 1024.0},
    Suffix{"M", 1024.0 * 1024},
    Suffix{"m", 1024.0 * 1024},
    Suffix{"G", 1024.0 * 1024 * 1024},
    Suffix{"g", 1024.0 * 1024 * 1024},
};
constexpr std::array kBitSuffixes = {
    Suffix{"Kbit", 1e3},
    Suffix{"Mbit", 1e6},
    Suffix{"Gbit", 1e9},
    Suffix{"Tbit", 1e12},
};
constexpr std::array kDurationSuffixes = {
    Suffix{"ns", 1.0}, Suffix{"us", 1e3}, Suffix{"ms", 1e6},
    Suffix{"s", 1e9},  Suffix{"m", 60e9}, Suffix{"h", 3600e9},
};

// Splits "1.5Mi" into its number and suffix; false when it does not begin with a plain decimal
// number.
bool split_number(std::string_view text, double& number, std::string_view& suffix) {
  const std::optional<double> taken = take_decimal(text);
  number = taken.value_or(0);
  suffix = text;
  return taken.has_value();
}

Expected<uint64_t> whole_bytes(std::string_view text, double value) {
  if (value > 9.0e18) return fail(ErrorCode::kConfig, fmt::format("size '{}' is too large", text));
  if (value != std::floor(value)) {
    return fail(ErrorCode::kConfig, fmt::format("size '{}' is not a whole number of bytes", text));
  }
  return static_cast<uint64_t>(value);
}

// Three significant digits without trailing zeros: 1 -> "1", 1.5, 12.3, 123, 1230.
std::string three_digits(double value) {
  if (value == std::floor(value) && value < 10000) return fmt::format("{:.0f}", value);
  if (value >= 100) return fmt::format("{:.0f}", value);
  std::string text = value >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

// In the first unit, each `step` times the one before, in which the number is below `limit`.
std::string scaled(double value, double step, double limit,
                   std::initializer_list<const char*> units) {
  const char* const* unit = units.begin();
  for (; value >= limit && unit + 1 < units.end(); ++unit) value /= step;
  return three_digits(value) + " " + *unit;
}

}  // namespace

Expected<uint64_t> parse_bytes(std::string_view text) {
  double number = 0;
  std::string_view suffix;
  if (!split_number(text, number, suffix)) {
    return fail(ErrorCode::kConfig, fmt::format("'{}' is not a size", text),
                "write a number of bytes such as 64, 64Ki, 16Mi, 1e6");
  }
  for (const Suffix& s : kByteSuffixes) {
    if (suffix == s.text) return whole_bytes(text, number * s.factor);
  }
  return fail(ErrorCode::kConfig, fmt::format("size '{}' has an unknown unit '{}'", text, suffix),
              "units are Ki, Mi, Gi, Ti, or K, M, G (powers of two); 1e6 for powers of ten");
}

Expected<uint64_t> parse_bytes_nccl(std::string_view text) {
  double number = 0;
  std::string_view suffix;
  if (split_number(text, number, suffix)) {
    if (!suffix.empty() && (suffix.back() == 'B' || suffix.back() == 'b')) suffix.remove_suffix(1);
    for (const Suffix& s : kByteSuffixes) {
      if (suffix == s.text) return whole_bytes(text, number * s.factor);
    }
  }
  return fail(ErrorCode::kUsage, fmt::format("'{}' is not a size", text),
              "write bytes, or K, M, G for 2^10, 2^20, 2^30, such as 8, 64K, 128M");
}

Expected<int64_t> parse_duration(std::string_view text) {
  double number = 0;
  std::string_view suffix;
  if (split_number(text, number, suffix)) {
    for (const Suffix& s : kDurationSuffixes) {
      if (suffix != s.text) continue;
      const double ns = number * s.factor;
      if (ns > 9.0e18) break;
      return static_cast<int64_t>(std::llround(ns));
    }
  }
  return fail(ErrorCode::kConfig, fmt::format("'{}' is not a duration", text),
              "write a number with its unit, such as 2s, 500ms, 100us, 1.5m");
}

Expected<double> parse_bit_rate(std::string_view text) {
  double number = 0;
  std::string_view suffix;
  // "1." and "1e3" are numbers, but nobody writes a speed so.
  const bool read = split_number(text, number, suffix);
  const std::string_view digits = text.substr(0, text.size() - suffix.size());
  const bool plain = read && digits.front() != '.' && digits.back() != '.' &&
                     digits.find_first_of("eE") == std::string_view::npos;
  if (plain && number > 0 && number < 1e9) {
    for (const Suffix& s : kBitSuffixes) {
      if (suffix == s.text) return number * s.factor;
    }
  }
  return fail(ErrorCode::kConfig, fmt::format("'{}' is not a speed", text),
              "write a number with Tbit, Gbit, Mbit or Kbit, such as 40Gbit");
}

Expected<double> parse_share(std::string_view text) {
  double number = 0;
  std::string_view suffix;
  if (!split_number(text, number, suffix) || !(suffix.empty() || suffix == "%")) {
    return fail(ErrorCode::kConfig, fmt::format("'{}' is not a share", text),
                "write it like 2% or 0.02");
  }
  return suffix.empty() ? number : number / 100;
}

std::string format_bytes(uint64_t bytes) {
  return scaled(static_cast<double>(bytes), 1024, 1024, {"B", "KiB", "MiB", "GiB", "TiB"});
}

std::string format_duration(double ns) { return scaled(ns, 1000, 999.5, {"ns", "us", "ms", "s"}); }

std::string format_rate(double bytes_per_second) {
  return scaled(bytes_per_second, 1000, 999.5, {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"});
}

}  // namespace plumbline
