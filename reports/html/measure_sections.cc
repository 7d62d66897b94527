// The page's measurements: plots over size with bands and roofs, and the tables behind them; tails;
// ranks; times in order.
#include <fmt/format.h>

#include <algorithm>

#include "core/record/roof.h"
#include "core/units.h"
#include "reports/content.h"
#include "reports/html/page.h"
#include "reports/html/writer.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

// Tables are folded where plots show the same at a glance.
void write_group(Page& page, const ViewGroup& group, bool folded, HtmlWriter& html) {
  if (page.rows.all == 0) return;
  ViewGroup shown = group;  // no more rows than are written: a group can have a million
  shown.rows.resize(std::min({group.rows.size(), page.rows.one_table, page.rows.all}));
  std::vector<std::string> notes;
  std::string caption = fmt::format("{}: {}", to_string(group.kind), title_of(group));
  const Table table = page_table(group_table(shown, notes), caption);
  const auto body = [&] {
    write_table(table, caption, page.rows, html);
    if (shown.rows.size() < group.rows.size()) {
      write_note(
          fmt::format("{} of {} rows are left out here; all are in records.csv (plumbline report "
                      "csv DIR)",
                      group.rows.size() - shown.rows.size(), group.rows.size()),
          html);
    }
    Document below;
    below.list(numbered(notes));
    write_document(below, page.rows, html);
  };
  if (!folded) {
    html.element("h3", title_of(group));
    body();
    return;
  }
  const auto details = html.in("details");
  write_summary(title_of(group), group.rows.size(), html);
  body();
}

Table roof_table(const View& view) {
  Table table;
  table.columns = {{"", "roof", "", true, 0, false},
                   {"", "ranks", "of the world", false, 0, false},
                   {"", "size", "B", false, 0, false},
                   {"", "time", "", false, 0, true},
                   {"", "rate", "", false, 0, true}};
  for (const Item* roof : view.roofs) {
    const Cell& cell = roof->record->cell;
    const std::optional<double> rate = roof_rate_Bps(*roof);
    const RoofRow* const known = find_roof(cell.op);
    const bool trip = known != nullptr && known->latency;
    if (!roof->valid() || (trip ? !roof->time.p50.has_value() : !rate.has_value())) continue;
    table.rows.push_back(
        {{clean(cell.op), std::to_string(cell.ranks), std::to_string(cell.bytes),
          trip ? format_duration(*roof->time.p50) : "", trip ? "" : format_rate(*rate)}});
  }
  return without_empty_columns(table);
}

Table rank_table(const RankWorld& world) {
  Table table;
  table.columns = {
      {"", "rank", "", true},   {"", "host", "", true, 0, true},   {"", "p50", "x"},
      {"", "5 % to 95 %", "x"}, {"", "mean", "x", false, 0, true}, {"", "p99", "x", false, 0, true},
      {"", "slowest", "cells"}, {"", "fastest", "cells"},          {"", "CPU", "ms"},
      {"", "switches"},         {"", "sent", "", false, 0, true},  {"", "retransmits"}};
  for (const RankStanding& standing : world.standings) {
    const auto ratio = [](const std::vector<double>& sorted, double q) {
      return sorted.empty() ? std::string() : ratio_text(sorted_quantile(sorted, q));
    };
    table.rows.push_back(
        {{std::to_string(standing.rank), standing.host, ratio(standing.p50_ratios, 0.5),
          ratio(standing.p50_ratios, 0.05) + " .. " + ratio(standing.p50_ratios, 0.95),
          ratio(standing.mean_ratios, 0.5), ratio(standing.p99_ratios, 0.5),
          std::to_string(standing.slowest_in), std::to_string(standing.fastest_in),
          fmt::format("{:.0f}", static_cast<double>(standing.cpu_ns) / 1e6),
          std::to_string(standing.context_switches), format_bytes(standing.wire_bytes),
          std::to_string(standing.retransmits)}});
  }
  return without_empty_columns(table);
}

std::string share_of(uint64_t part, double whole) {
  return whole > 0 ? percent_text(static_cast<double>(part) / whole) : std::string();
}

// What moved each rank's bytes, over the same cells.
Table effort_table(const RankWorld& world) {
  Table table;
  table.columns = {{"", "rank", "", true},
                   {"", "received", ""},
                   {"", "CPU", "ns/B"},
                   {"system calls", "write", ""},
                   {"system calls", "read", ""},
                   {"system calls", "poll", ""},
                   {"system calls", "yield", ""},
                   {"received bytes", "in place", "%"},
                   {"received bytes", "copied", "%"},
                   {"stalls", "peer late", ""},
                   {"stalls", "receiving", ""},
                   {"stalls", "send full", ""},
                   {"stalls", "park full", ""},
                   {"buffer", "send", "", false, 0, true},
                   {"buffer", "receive", "", false, 0, true}};
  for (const RankStanding& standing : world.standings) {
    if (!standing.counters) continue;
    const RankCounters& counted = *standing.counters;
    const auto received = static_cast<double>(counted.received_bytes);
    const double moved = received + static_cast<double>(standing.wire_bytes);
    const auto buffer = [](const std::optional<uint64_t>& bytes) {
      return bytes ? format_bytes(*bytes) : std::string();
    };
    table.rows.push_back(
        {{std::to_string(standing.rank), format_bytes(counted.received_bytes),
          moved > 0 ? fmt::format("{:.3g}", static_cast<double>(standing.cpu_ns) / moved) : "",
          std::to_string(counted.write_calls), std::to_string(counted.read_calls),
          std::to_string(counted.poll_calls), std::to_string(counted.yield_calls),
          share_of(counted.in_place_bytes, received), share_of(counted.copied_bytes, received),
          std::to_string(counted.peer_late_stalls), std::to_string(counted.receiving_stalls),
          std::to_string(counted.send_full_stalls), std::to_string(counted.park_full_stalls),
          buffer(standing.send_buffer_bytes), buffer(standing.recv_buffer_bytes)}});
  }
  return without_empty_columns(table);
}

// Whose results a section shows.
struct Origins {
  bool own = false, foreign = false;
};

Origins origins_of(const Page& page, CellKind kind) {
  Origins from;
  for (const Item& item : page.view->items) {
    if (item.record->cell.kind == kind) (item.imported() ? from.foreign : from.own) = true;
  }
  return from;
}

std::string foreign_text(const Origins& from, const std::string& what) {
  return fmt::format("{} {} other tools; legends and tables name tool and statistic. ",
                     from.own ? "Beside ours stand" : "These are", what + " of");
}

// How the measured roofs of a section are drawn.
struct Guides {
  bool lines = false, points = false;
  bool any() const { return lines || points; }
  std::string words() const {
    return !points ? "dashed" : lines ? "dashed, or a cross" : "a cross";
  }
};

Guides guides_of(const Page& page, const std::string& section) {
  Guides guides;
  for (const auto& [name, figure] : page.figures) {
    if (name != section || !figure.svg) continue;
    for (const ChartSeries& series : figure.chart.series) {
      if (series.mark != ChartMark::kGuide) continue;
      guides.lines = guides.lines || is_joined(series);
      guides.points = guides.points || has_lonely(series);
    }
  }
  return guides;
}

}  // namespace

bool has_cells_of(const Page& page, CellKind kind) {
  return std::any_of(page.view->groups.begin(), page.view->groups.end(),
                     [&](const ViewGroup& group) { return group.kind == kind; });
}

void write_cells_of(Page& page, CellKind kind, HtmlWriter& html) {
  const std::string section = to_string(kind);
  write_figures(page, section, html);
  const bool drawn = std::any_of(page.figures.begin(), page.figures.end(), [&](const auto& each) {
    return each.first == section && each.second.svg;
  });
  size_t left_out = 0;
  if (drawn) html.element("h3", "The numbers");
  for (const ViewGroup& group : page.view->groups) {
    if (group.kind != kind) continue;
    if (page.rows.all == 0) ++left_out;
    write_group(page, group, drawn, html);
  }
  if (left_out > 0) {
    write_note(
        fmt::format("{} more tables are left out here; all rows are in records.csv (plumbline "
                    "report csv DIR)",
                    left_out),
        html);
  }
}

void write_latency(Page& page, HtmlWriter& html) {
  const Origins from = origins_of(page, CellKind::kLatency);
  std::string text;
  if (from.own) {
    text =
        "Time of one operation: the median over iterations of the slowest rank, with its 95 % "
        "confidence interval. ";
  }
  if (from.foreign) text += foreign_text(from, "times");
  const Guides guides = guides_of(page, "latency");
  if (guides.any()) {
    text += fmt::format(
        "The floor ({}) is half the round trip of a bare socket, the least that one message can "
        "take.",
        guides.words());
  }
  write_note(text, html);
  write_cells_of(page, CellKind::kLatency, html);
}

void write_bandwidth(Page& page, HtmlWriter& html) {
  std::string text =
      "Bus bandwidth: size over time, times the operation's factor, so that operations and numbers "
      "of ranks can be compared with one another and with the link. ";
  const Origins from = origins_of(page, CellKind::kBandwidth);
  if (from.foreign) text += foreign_text(from, "rates");
  if (const Guides guides = guides_of(page, "bandwidth"); guides.any()) {
    text += fmt::format(
        "The roof ({}) is what a bare socket carried on the same path, both ways at once or one "
        "way, as the operation uses it, at the size at which that was measured.",
        guides.words());
  }
  write_note(text, html);
  write_cells_of(page, CellKind::kBandwidth, html);
  write_table(roof_table(*page.view), "Measured roofs, between ranks 0 and 1", page.rows, html);
}

void write_throughput(Page& page, HtmlWriter& html) {
  write_note("Operations completed per second, with several outstanding at once.", html);
  write_cells_of(page, CellKind::kThroughput, html);
}

bool has_tails(const Page& page) { return has_figures(page, "tails"); }
void write_tails(Page& page, HtmlWriter& html) {
  write_note(
      "How rare are slow operations? Each curve says which share of the operations took at least "
      "that long. A curve that falls steeply is a steady one; one that bends to the right has a "
      "tail.",
      html);
  write_figures(page, "tails", html);
}

bool has_ranks(const Page& page) { return !page.ranks.empty(); }
void write_ranks(Page& page, HtmlWriter& html) {
  write_note(
      "Each rank's own times beside those of the rank in the middle, over the cells in which all "
      "ranks do the same work. A rank with longer times is slow itself; one with shorter times "
      "than "
      "all others comes late to every operation, and the others wait for it.",
      html);
  write_figures(page, "ranks", html);
  constexpr size_t kMostWorlds = 8;
  for (size_t i = 0; i < std::min(kMostWorlds, page.ranks.size()); ++i) {
    const RankWorld& world = page.ranks[i];
    write_table(rank_table(world),
                fmt::format("{}, {} cells; medians; x: times that of the middle rank", world.title,
                            world.cells),
                page.rows, html);
    write_table(effort_table(world), fmt::format("{}: what moved each rank's bytes", world.title),
                page.rows, html);
  }
}

bool has_work(const Page& page) { return !work_table(*page.view).rows.empty(); }
void write_work(Page& page, HtmlWriter& html) {
  write_note(kWorkLegend, html);
  write_table(work_table(*page.view), "Where the time went, and what it took", page.rows, html);
}

bool has_strips(const Page& page) { return has_figures(page, "order"); }
void write_strips(Page& page, HtmlWriter& html) {
  write_note(
      "The cells whose times varied most, operation after operation: bursts, steps and two modes "
      "side by side are seen here, where a median hides them.",
      html);
  write_figures(page, "order", html);
}

}  // namespace plumbline
