#include "cli/watch_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>
#include <utility>

#include "reports/tables.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr const char* kUnknown = "n/a";

// One line of the table. `first`: the first one of its host, which shows what is the host's.
struct Row {
  const LiveHost* host;
  const LiveLink* link;  // null: a host of which no link can be shown
  bool first = true;
};

std::string shown(const std::optional<double>& value, std::string (*text)(double)) {
  return value ? text(*value) : kUnknown;
}

std::optional<double> drops_of(const LiveLink& link) {
  if (!link.rx_drops_per_s && !link.tx_drops_per_s) return std::nullopt;
  return link.rx_drops_per_s.value_or(0) + link.tx_drops_per_s.value_or(0);
}

std::string signal_text(const LiveLink& link) {
  return !link.up ? "off" : link.carrier ? "yes" : "LOST";
}

std::string changes_text(const LiveLink& link) {
  return link.signal_changes ? short_count(static_cast<double>(*link.signal_changes)) : kUnknown;
}

std::string speed_text(const LiveLink& link) {
  return link.speed_bps ? short_rate(static_cast<double>(*link.speed_bps)) : kUnknown;
}

std::string use_text(const LiveLink& link) {
  if (!link.speed_bps || *link.speed_bps == 0 || !link.rx_Bps || !link.tx_Bps) return kUnknown;
  const double bytes = static_cast<double>(*link.speed_bps) / 8;
  return fmt::format("{:.0f}%",
                     std::min(999.0, 100 * std::max(*link.rx_Bps, *link.tx_Bps) / bytes));
}

std::string neighbours_text(const LiveLink& link) {
  if (!link.neighbours) return kUnknown;
  std::string text = std::to_string(*link.neighbours);
  if (link.lost_neighbours.value_or(0) > 0) {
    text += fmt::format(", {} lost", *link.lost_neighbours);
  }
  return text;
}

std::string hottest(const LiveHost& host) {
  double most = -1;
  for (const auto& [sensor, degrees] : host.temperatures) most = std::max(most, degrees);
  return most < 0 ? kUnknown : fmt::format("{:.0f}°C", std::min(most, 999.0));
}

// Shown in the first row of a host only.
template <typename Text>
std::string of_host(const Row& row, Text text) {
  return row.first ? text(*row.host) : " ";
}

struct WatchColumn {
  const char* name;
  int width, least;  // as columns_for() wants them
  bool left;
  int priority;
  std::string (*text)(const Row& row);
};
// What is always there fits 39 columns.
const WatchColumn kColumns[] = {
    {"host", 16, 6, true, 0, [](const Row& r) { return r.host->name; }},
    {"link", 15, 5, true, 0, [](const Row& r) { return r.link->name; }},
    {"wire", 4, 4, true, 0, [](const Row& r) { return signal_text(*r.link); }},
    {"changes", 7, 7, false, 5, [](const Row& r) { return changes_text(*r.link); }},
    {"bit/s", 5, 5, false, 4, [](const Row& r) { return speed_text(*r.link); }},
    {"in", 7, 5, false, 0, [](const Row& r) { return shown(r.link->rx_Bps, short_rate); }},
    {"out", 7, 5, false, 0, [](const Row& r) { return shown(r.link->tx_Bps, short_rate); }},
    {"use", 4, 4, false, 3, [](const Row& r) { return use_text(*r.link); }},
    {"retr", 5, 4, false, 0,
     [](const Row& r) {
       return of_host(r,
                      [](const LiveHost& h) { return shown(h.retransmitted_per_s, short_count); });
     }},
    {"drop", 5, 4, false, 0, [](const Row& r) { return shown(drops_of(*r.link), short_count); }},
    {"err", 5, 4, false, 1, [](const Row& r) { return shown(r.link->errors_per_s, short_count); }},
    {"neighbours", 10, 10, false, 2, [](const Row& r) { return neighbours_text(*r.link); }},
    {"temp", 5, 5, false, 6, [](const Row& r) { return of_host(r, hottest); }},
};

// Interfaces that were never switched on say nothing; loopback is shown where there is nothing
// else.
std::vector<const LiveLink*> links_to_show(const LiveHost& host) {
  std::vector<const LiveLink*> out;
  const LiveLink* loopback = nullptr;
  for (const LiveLink& link : host.links) {
    if (link.kind == "loopback") {
      loopback = loopback == nullptr ? &link : loopback;
    } else if (link.up || link.was_up) {
      out.push_back(&link);
    }
  }
  if (out.empty() && loopback != nullptr) out.push_back(loopback);
  return out;
}

double sort_key(const Row& row, WatchSort sort) {
  if (row.link == nullptr) return -1;
  switch (sort) {
    case WatchSort::kHost:
      return 0;
    case WatchSort::kIn:
      return row.link->rx_Bps.value_or(-1);
    case WatchSort::kOut:
      return row.link->tx_Bps.value_or(-1);
    case WatchSort::kRetransmitted:
      return row.host->retransmitted_per_s.value_or(-1);
    case WatchSort::kDrops:
      return drops_of(*row.link).value_or(-1);
    case WatchSort::kErrors:
      return row.link->errors_per_s.value_or(-1);
  }
  return 0;
}

// The largest first, or as in the host file.
std::vector<Row> rows_of(const std::vector<LiveHost>& hosts, const WatchView& view) {
  std::vector<Row> rows;
  for (const LiveHost& host : hosts) {
    const std::vector<const LiveLink*> links = links_to_show(host);
    if (!host.lost.empty() || links.empty()) {
      rows.push_back({&host, nullptr});
      continue;
    }
    for (const LiveLink* link : links) rows.push_back({&host, link});
  }
  std::stable_sort(rows.begin(), rows.end(), [&view](const Row& a, const Row& b) {
    return sort_key(a, view.sort) > sort_key(b, view.sort);
  });
  if (view.reverse) std::reverse(rows.begin(), rows.end());
  std::set<const LiveHost*> told;
  for (Row& row : rows) row.first = told.insert(row.host).second;
  return rows;
}

bool positive(const std::optional<double>& value) { return value && *value > 0; }

Tone row_tone(const Row& row) {
  if (row.link == nullptr || !row.link->up || !row.link->carrier) return Tone::kBad;
  const bool lossy = positive(drops_of(*row.link)) || positive(row.link->errors_per_s) ||
                     (row.first && positive(row.host->retransmitted_per_s));
  return lossy ? Tone::kWarn : Tone::kPlain;
}

std::string row_line(const Row& row, int width) {
  if (row.link != nullptr) {
    return column_line(std::span<const WatchColumn>(kColumns), width,
                       [&row](const WatchColumn& column) { return column.text(row); });
  }
  const int name = columns_for(std::span<const WatchColumn>(kColumns), width).front().width;
  const std::string why =
      row.host->lost.empty() ? "no link is switched on" : "LOST: " + row.host->lost;
  return fit(clean(row.host->name), static_cast<size_t>(name), true) + " " + clean(why);
}

// Cut to the width; without the spaces behind it.
std::string cut(const std::string& line, int width) {
  const auto room = static_cast<size_t>(std::max(width, 1));
  const std::string out = display_width(line) > room ? fit(line, room, true) : line;
  return out.substr(0, out.find_last_not_of(' ') + 1);
}

std::string title(const std::vector<LiveHost>& hosts, const WatchView& view) {
  const auto lost = std::count_if(hosts.begin(), hosts.end(),
                                  [](const LiveHost& host) { return !host.lost.empty(); });
  std::string text = fmt::format("watch  {}", view.time);
  if (view.paused) text += "  PAUSED";
  text += fmt::format("  {} host{}", hosts.size(), hosts.size() == 1 ? "" : "s");
  if (lost > 0) text += fmt::format(", {} lost", lost);
  return text + fmt::format("  by {}{}", to_string(view.sort), view.reverse ? ", reversed" : "");
}

constexpr const char* kKeysLine =
    "q quit  p pause  s sort  r reverse  up, down scroll   in, out: bytes/s; others: a second";

// With so many digits, and a unit of thousands.
std::string with_unit(double value, int digits) {
  constexpr std::array kUnits = {"", "k", "M", "G", "T", "P", "E"};
  size_t unit = 0;
  // 999.7 would be printed as 1000.
  constexpr double kLimit = 999.5;
  while (value >= kLimit && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  if (value >= kLimit) return ">999";
  const int decimals = unit == 0 ? 0
                                 : std::max(0, digits - (value < 9.95   ? 1
                                                         : value < 99.5 ? 2
                                                                        : 3));
  return fmt::format("{:.{}f}{}", value, decimals, kUnits[unit]);
}

}  // namespace

const char* to_string(WatchSort sort) {
  constexpr std::array kNames = {"host", "in", "out", "retransmissions", "drops", "errors"};
  return kNames[static_cast<size_t>(sort)];
}

WatchSort next_sort(WatchSort sort) {
  return sort == WatchSort::kErrors ? WatchSort::kHost
                                    : static_cast<WatchSort>(static_cast<int>(sort) + 1);
}

std::string short_count(double value) {
  if (!(value > 0)) return "0";
  return value < 0.5 ? "<1" : with_unit(value, 2);
}

std::string short_rate(double value) {
  if (!(value > 0)) return "0";
  return value < 0.5 ? "<1" : with_unit(value, 3);
}

std::vector<std::string> watch_lines(const std::vector<LiveHost>& hosts, WatchView& view) {
  const std::vector<Row> rows = rows_of(hosts, view);
  const auto height = static_cast<size_t>(std::max(view.height, 1));
  std::vector<std::string> lines = {cut(title(hosts, view), view.width)};
  if (height >= 8) lines.push_back(cut(kKeysLine, view.width));
  lines.push_back(
      cut(column_line(std::span<const WatchColumn>(kColumns), view.width,
                      [](const WatchColumn& column) { return std::string(column.name); }),
          view.width));
  lines.resize(std::min(lines.size(), height));
  // Events get what the rows leave, at least a quarter where there is room at all.
  const size_t room = height - lines.size();
  size_t for_events = 0;
  if (!view.events.empty() && room >= 6) {
    const size_t spare = room > rows.size() ? room - rows.size() : 0;
    for_events = std::min(view.events.size() + 1, std::max(spare, room / 4));
  }
  size_t for_rows = room - for_events;
  const bool all = rows.size() <= for_rows;
  if (!all && for_rows > 1) --for_rows;  // for the line that says so
  view.first = std::min(view.first, rows.size() > for_rows ? rows.size() - for_rows : 0);
  const size_t end = std::min(rows.size(), view.first + for_rows);
  for (size_t i = view.first; i < end; ++i) {
    lines.push_back(
        toned(cut(row_line(rows[i], view.width), view.width), row_tone(rows[i]), view.colour));
  }
  if (!all && lines.size() + for_events < height) {
    lines.push_back(
        cut(fmt::format("rows {} to {} of {}", view.first + 1, end, rows.size()), view.width));
  }
  if (for_events > 1) {
    lines.emplace_back();
    const size_t skip = view.events.size() - std::min(view.events.size(), for_events - 1);
    for (size_t i = skip; i < view.events.size(); ++i) {
      const WatchEvent& event = view.events[i];
      lines.push_back(cut(event.time + " " + clean(event.text), view.width));
    }
  }
  return lines;
}

WatchKey WatchKeys::take(char byte) {
  constexpr char kEscapeByte = '\x1b';
  if (byte == kEscapeByte) {
    state_ = State::kEscape;
    return WatchKey::kNone;
  }
  const State state = std::exchange(state_, State::kPlain);
  if (state == State::kEscape && (byte == '[' || byte == 'O')) {
    state_ = State::kSequence;
    digit_ = 0;
    return WatchKey::kNone;
  }
  if (state == State::kSequence) {
    if ((byte >= '0' && byte <= '9') || byte == ';') {
      if (digit_ == 0) digit_ = byte;
      state_ = State::kSequence;
      return WatchKey::kNone;
    }
    if (byte == 'A') return WatchKey::kUp;
    if (byte == 'B') return WatchKey::kDown;
    if (byte == '~' && digit_ == '5') return WatchKey::kPageUp;
    return byte == '~' && digit_ == '6' ? WatchKey::kPageDown : WatchKey::kNone;
  }
  switch (byte) {
    case 'q':
    case 'Q':
      return WatchKey::kQuit;
    case 'p':
    case ' ':
      return WatchKey::kPause;
    case 's':
      return WatchKey::kSort;
    case 'r':
      return WatchKey::kReverse;
    case 'k':
      return WatchKey::kUp;
    case 'j':
      return WatchKey::kDown;
    default:
      return WatchKey::kNone;
  }
}

}  // namespace plumbline
