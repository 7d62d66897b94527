#include "reports/publish/bundle_words.h"

#include <algorithm>

#include "core/text.h"
#include "reports/text.h"

namespace plumbline {
namespace {

struct Interval {
  char32_t first, last;
};
// Unicode 15: default-ignorable and format characters, fillers and blanks that look like nothing or
// like a space, private use, and the halves of what has no meaning alone.
constexpr Interval kInvisible[] = {
    {0x00AD, 0x00AD},   {0x034F, 0x034F}, {0x061C, 0x061C}, {0x115F, 0x1160},   {0x1680, 0x1680},
    {0x17B4, 0x17B5},   {0x180B, 0x180F}, {0x2000, 0x200F}, {0x2028, 0x202F},   {0x205F, 0x206F},
    {0x2800, 0x2800},   {0x3000, 0x3000}, {0x3164, 0x3164}, {0xD800, 0xF8FF},   {0xFE00, 0xFE0F},
    {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
    {0xE0000, 0x10FFFF}};

bool is_invisible(char32_t value) {
  return std::any_of(std::begin(kInvisible), std::end(kInvisible),
                     [&](const Interval& one) { return value >= one.first && value <= one.last; });
}

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

// Of text that is UTF-8: clean() has found nothing to change.
bool has_invisible(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    char32_t value = lead < 0x80   ? lead
                     : lead < 0xE0 ? lead & 0x1FU
                     : lead < 0xF0 ? lead & 0x0FU
                                   : lead & 0x07U;
    for (++at; at < text.size() && !starts_character(text[at]); ++at) {
      value = (value << 6U) | (static_cast<unsigned char>(text[at]) & 0x3FU);
    }
    if (is_invisible(value)) return true;
  }
  return false;
}

std::string whole_text(Wide value) {
  std::string out;
  do {
    out += static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value != 0);
  std::reverse(out.begin(), out.end());
  return out;
}

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

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string hidden_in(std::string_view text) {
  std::string plain(text);
  std::replace(plain.begin(), plain.end(), '\n', ' ');
  if (has_invisible(plain)) return "holds an invisible character";
  if (clean(plain) != plain) return "holds a control character";
  plain = lower_case(plain);
  for (const char* link : {"://", "www.", "mailto:", "xmpp:"}) {
    if (plain.find(link) != std::string::npos) return "holds a link";
  }
  return "";
}

std::string decimal_text(Wide numerator, Wide denominator, int digits) {
  std::string out = whole_text(numerator / denominator) + ".";
  Wide rest = numerator % denominator;
  for (int i = 0; i < digits; ++i) {
    rest *= 10;
    out += static_cast<char>('0' + static_cast<int>(rest / denominator));
    rest %= denominator;
  }
  return out;
}

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
