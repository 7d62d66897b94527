#include "reports/publish/bundle_date.h"

namespace plumbline {
namespace {

std::optional<int> number_at(std::string_view text, size_t at, size_t digits) {
  int value = 0;
  for (const char c : text.substr(at, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int days_in(int year, int month) {
  if (month == 2) return is_leap(year) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

}  // namespace

std::optional<int64_t> day_number(std::string_view date) {
  if (date.size() != 10 || date[4] != '-' || date[7] != '-') return std::nullopt;
  const auto year = number_at(date, 0, 4), month = number_at(date, 5, 2),
             day = number_at(date, 8, 2);
  if (!year || !month || !day || *year < 1970 || *month < 1 || *month > 12) return std::nullopt;
  if (*day < 1 || *day > days_in(*year, *month)) return std::nullopt;
  int64_t days = *day - 1;
  for (int y = 1970; y < *year; ++y) days += is_leap(y) ? 366 : 365;
  for (int m = 1; m < *month; ++m) days += days_in(*year, m);
  return days;
}

}  // namespace plumbline
