#include "reports/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <set>

#include "core/field_json.h"
#include "core/text.h"

namespace plumbline {
namespace {

struct Interval {
  char32_t first, last;
};
constexpr std::array kCombining = {Interval{0x300, 0x36F}, Interval{0x200B, 0x200F},
                                   Interval{0x20D0, 0x20FF}, Interval{0xFE00, 0xFE0F}};
constexpr std::array kWide = {Interval{0x1100, 0x115F},   Interval{0x2E80, 0xA4CF},
                              Interval{0xAC00, 0xD7A3},   Interval{0xF900, 0xFAFF},
                              Interval{0xFE30, 0xFE6F},   Interval{0xFF00, 0xFF60},
                              Interval{0x1F300, 0x1FAFF}, Interval{0x20000, 0x3FFFD}};

template <size_t N>
bool within(const std::array<Interval, N>& intervals, char32_t value) {
  return std::any_of(intervals.begin(), intervals.end(),
                     [&](const Interval& i) { return value >= i.first && value <= i.last; });
}

size_t columns_of(const CodePoint& point) {
  if (!point.valid) return 1;
  if (within(kCombining, point.value)) return 0;
  return within(kWide, point.value) ? 2 : 1;
}

// The longest beginning that takes at most `width` columns.
std::string_view head(std::string_view text, size_t width) {
  size_t used = 0;
  size_t i = 0;
  while (i < text.size()) {
    const CodePoint point = code_point(text, i);
    if (used + columns_of(point) > width) break;
    used += columns_of(point);
    i += point.bytes;
  }
  return text.substr(0, i);
}

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

size_t display_width(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = code_point(text, i);
    width += columns_of(point);
    i += point.bytes;
  }
  return width;
}

std::string clean(std::string_view text) { return printable(text); }

std::string escape_markup(std::string_view raw) {
  const std::string text = clean(raw);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if (text.compare(i, 3, "\uFFFE") == 0 || text.compare(i, 3, "\uFFFF") == 0) {
      out += '?';
      i += 2;
    } else {
      out += c;
    }
  }
  return out;
}

std::string fit(std::string_view text, size_t width, bool left) {
  std::string out(text);
  if (display_width(text) > width) {
    out = width == 0 ? std::string() : std::string(head(text, width - 1)) + "~";
  }
  const std::string spaces(width - std::min(width, display_width(out)), ' ');
  return left ? out + spaces : spaces + out;
}

std::string cut(std::string_view text, size_t width) {
  const std::string safe = clean(text);
  return fit(safe, std::min(width, display_width(safe)), true);
}

std::string fit_end(std::string_view text, size_t width) {
  constexpr std::string_view kMark = "...";
  if (display_width(text) <= width) return fit(text, width, true);
  std::string_view rest = text;
  while (!rest.empty() && display_width(rest) + kMark.size() > width) {
    rest.remove_prefix(code_point(rest, 0).bytes);
  }
  return fit(std::string(kMark) + std::string(rest), width, true);
}

std::vector<std::string> wrap(std::string_view text, size_t width, std::string_view first) {
  std::vector<std::string> lines;
  const std::string indent(display_width(first), ' ');
  const size_t room = width == 0 ? SIZE_MAX : width > indent.size() ? width - indent.size() : 1;
  std::string line;
  const auto flush = [&] {
    lines.push_back((lines.empty() ? std::string(first) : indent) + line);
    line.clear();
  };
  for (size_t i = 0; i < text.size();) {
    const size_t end = std::min(text.find(' ', i), text.size());
    std::string_view word = text.substr(i, end - i);
    i = end + 1;
    if (word.empty()) continue;
    if (!line.empty() && display_width(line) + 1 + display_width(word) > room) flush();
    if (!line.empty()) line += ' ';
    while (display_width(word) > room) {
      std::string_view part = head(word, room);
      if (part.empty()) part = word.substr(0, code_point(word, 0).bytes);
      line = part;
      word.remove_prefix(part.size());
      if (!word.empty()) flush();
    }
    line += word;
  }
  if (!line.empty() || lines.empty()) flush();
  return lines;
}

std::string plural(size_t count, const std::string& word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) out += separator;
    out += part;
  }
  return out;
}

std::string us_text(std::optional<double> ns) {
  if (!ns || !std::isfinite(*ns)) return {};
  const double us = *ns / 1000;
  return us >= 9999.5   ? fmt::format("{:.0f}", us)
         : us >= 99.995 ? fmt::format("{:.1f}", us)
         // Below 0.1 us two decimals would say little or nothing: 12.3 ns is 0.0123 us.
         : us > 0 && us < 0.09995 ? fmt::format("{:.4f}", us)
                                  : fmt::format("{:.2f}", us);
}

std::string gbps_text(std::optional<double> bytes_per_second) {
  if (!bytes_per_second || !std::isfinite(*bytes_per_second)) return {};
  const double rate = *bytes_per_second / 1e9;
  return rate >= 99.995   ? fmt::format("{:.1f}", rate)
         : rate >= 0.9995 ? fmt::format("{:.2f}", rate)
         : rate >= 0.01   ? fmt::format("{:.3f}", rate)
                          : fmt::format("{:.5f}", rate);
}

std::string percent_text(std::optional<double> fraction) {
  if (!fraction || !std::isfinite(*fraction)) return {};
  const double percent = *fraction * 100;
  return percent < 9.95 ? fmt::format("{:.1f}", percent) : fmt::format("{:.0f}", percent);
}

std::string reason_text(const std::string& reason) {
  return reason.empty() ? "no reason recorded" : reason;
}

std::vector<std::string> other_words(const Cell& cell) {
  // What tables and words tell in their own way.
  static const std::set<std::string_view> kToldByName = {
      "kind",  "engine", "measure",     "op",       "transport", "algorithm", "dtype",
      "redop", "root",   "ranks",       "bytes",    "count",     "placement", "sync",
      "cache", "params", "outstanding", "rate_bps", "repeat",    "hosts",     "distribution"};
  std::vector<std::string> words;
  for (const Field<Cell>& field : FieldsOf<Cell>::all()) {
    if (kToldByName.count(field.words.name) > 0 || !field.is_set(cell)) continue;
    nlohmann::json value;
    field.write(cell, value);
    words.push_back(fmt::format("{}={}", field.words.name,
                                value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return words;
}

std::vector<std::string> variant_words(const Cell& cell) {
  static const Cell kUsual;
  std::vector<std::string> words;
  if (cell.engine != kUsual.engine) words.push_back(cell.engine);
  if (cell.sync != kUsual.sync) words.push_back("sync " + cell.sync);
  if (cell.cache != kUsual.cache) words.push_back("cache " + cell.cache);
  if (cell.outstanding != kUsual.outstanding) {
    words.push_back(fmt::format("{} {}", cell.outstanding, word_of_outstanding(cell)));
  }
  if (cell.root > 0) words.push_back(fmt::format("root {}", cell.root));
  if (cell.rate_bps > 0) {
    words.push_back(fmt::format("{:g} Mbit/s", static_cast<double>(cell.rate_bps) * 1e-6));
  }
  if (cell.repeat > 0) words.push_back(fmt::format("repetition {}", cell.repeat));
  if (!cell.hosts.empty()) words.push_back("on " + cell.hosts);
  if (!cell.distribution.empty()) words.push_back(cell.distribution);
  for (const std::string& word : other_words(cell)) words.push_back(word);
  for (const auto& [name, value] : cell.params) words.push_back(name + "=" + value);
  return words;
}

const char* word_of_outstanding(const Cell& cell) {
  return cell.kind == CellKind::kLink ? "streams" : "in flight";
}

std::string ranges_text(const std::set<int>& numbers) {
  std::string text;
  for (auto it = numbers.begin(); it != numbers.end();) {
    const int first = *it;
    int last = first;
    while (++it != numbers.end() && *it == last + 1) last = *it;
    if (!text.empty()) text += ',';
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  return text;
}

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
