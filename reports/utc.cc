#include "reports/utc.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace plumbline {
namespace {

constexpr int64_t kYear10000 = 253402300800;

// Seconds east of UTC of "Z", "+01:00" or "-0730".
std::optional<int> zone_of(const char* text) {
  if (*text == 'Z') return 0;
  int hours = 0, minutes = 0;
  if (*text != '+' && *text != '-') return std::nullopt;
  if (std::sscanf(text + 1, "%2d:%2d", &hours, &minutes) != 2 &&
      std::sscanf(text + 1, "%2d%2d", &hours, &minutes) != 2) {
    return std::nullopt;
  }
  if (hours < 0 || hours > 14 || minutes < 0 || minutes > 59) return std::nullopt;
  return (hours * 60 + minutes) * 60 * (*text == '-' ? -1 : 1);
}

std::optional<std::tm> parts_of(int64_t epoch_s) {
  if (epoch_s < 0 || epoch_s >= kYear10000) return std::nullopt;
  const auto moment = static_cast<time_t>(epoch_s);
  std::tm parts{};
  if (gmtime_r(&moment, &parts) == nullptr) return std::nullopt;
  return parts;
}

}  // namespace

std::optional<int64_t> epoch_ms(const std::string& time) {
  std::tm parts{};
  int used = 0;
  const int read =
      std::sscanf(time.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &used);
  if (read != 6 || parts.tm_year < 1970 || parts.tm_mon < 1 || parts.tm_mon > 12) return {};
  const char* rest = time.c_str() + used;
  int millisecond = 0;
  if (*rest == '.') {
    const char* digit = ++rest;
    for (int scale = 100; *digit >= '0' && *digit <= '9'; ++digit, scale /= 10) {
      millisecond += (*digit - '0') * scale;
    }
    rest = digit;
  }
  const std::optional<int> zone = zone_of(rest);
  if (!zone) return std::nullopt;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return (int64_t{timegm(&parts)} - *zone) * 1000 + millisecond;
}

std::string utc_text(int64_t epoch_s) {
  const std::optional<std::tm> parts = parts_of(epoch_s);
  if (!parts) return {};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts->tm_year + 1900,
                     parts->tm_mon + 1, parts->tm_mday, parts->tm_hour, parts->tm_min,
                     parts->tm_sec);
}

std::string http_date_text(int64_t epoch_s) {
  static constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::optional<std::tm> parts = parts_of(epoch_s);
  if (!parts) return {};
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                     kDays[static_cast<size_t>(parts->tm_wday)], parts->tm_mday,
                     kMonths[static_cast<size_t>(parts->tm_mon)], parts->tm_year + 1900,
                     parts->tm_hour, parts->tm_min, parts->tm_sec);
}

}  // namespace plumbline
