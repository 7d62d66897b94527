#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/record/link.h"
#include "core/units.h"
#include "reports/links/link_view.h"
#include "reports/text.h"
#include "reports/thresholds.h"

namespace plumbline {
namespace {

constexpr int kMostColumns = 16;    // ranks: a wider matrix is left to the pictures and the csv
constexpr size_t kMostListed = 30;  // sentences of one kind

const std::string& rank_name(const LinkWorld& world, int rank) {
  return world.names[static_cast<size_t>(rank)];
}

// The matrix itself: senders down, receivers across. `bytes`: rates as GB/s instead of Gb/s.
Table matrix(const LinkWorld& world, const LinkGrid& grid, bool bytes) {
  Table table;
  table.columns.push_back({"", "from \\ to", "", true});
  for (const std::string& name : world.names) table.columns.push_back({"", name, "", false, 1});
  for (int from = 0; from < world.ranks; ++from) {
    TableRow& row = table.rows.emplace_back();
    row.cells.push_back(rank_name(world, from));
    for (int to = 0; to < world.ranks; ++to) {
      const auto& value = grid.values[pair_index(world.ranks, from, to)];
      row.cells.push_back(bytes ? gbps_text(value) : grid_text(grid.unit, value));
    }
  }
  return table;
}

void add_matrices(const LinkWorld& world, Document& document) {
  if (world.ranks > kMostColumns) {
    document.paragraph(fmt::format("{} x {} matrices are in the pictures of the report links",
                                   world.ranks, world.ranks));
    return;
  }
  for (const LinkGrid& grid : world.grids) {
    document.heading(2, grid.title);
    document.table(matrix(world, grid, false));
    if (grid.unit != LinkUnit::kRate) continue;
    document.paragraph("The same in GB/s, 10^9 bytes per second:");
    document.table(matrix(world, grid, true));
  }
}

// A list that does not bury what comes after it.
std::vector<std::string> capped(std::vector<std::string> lines) {
  if (lines.size() <= kMostListed) return lines;
  const size_t more = lines.size() - kMostListed;
  lines.resize(kMostListed);
  lines.push_back(fmt::format("... and {} more", more));
  return lines;
}

std::vector<std::string> table_texts(const std::vector<LinkVerdict>& verdicts) {
  std::vector<std::string> out;
  out.reserve(verdicts.size());
  for (const LinkVerdict& verdict : verdicts) out.push_back(verdict.text);
  return capped(std::move(out));
}

// What is known of one ordered pair beside the matrices.
struct PairRow {
  const LinkResult *loaded = nullptr, *stream = nullptr, *udp = nullptr;
};

std::vector<std::string> round_trip_cells(const PairRow& row) {
  std::optional<double> idle, loaded;
  if (row.loaded != nullptr && row.loaded->rtt) idle = row.loaded->rtt->p50;
  if (row.loaded != nullptr && row.loaded->loaded_rtt) loaded = row.loaded->loaded_rtt->p50;
  const bool both = idle && loaded && *idle > 0;
  return {us_text(idle), us_text(loaded), both ? fmt::format("{:.3g}", *loaded / *idle) : ""};
}

std::vector<std::string> stream_cells(const PairRow& row) {
  if (row.stream == nullptr) return {"", ""};
  uint64_t retransmits = 0;
  bool told = false;
  for (const LinkStream& stream : row.stream->streams) {
    told = told || stream.retransmits.has_value();
    retransmits += stream.retransmits.value_or(0);
  }
  const bool speed = row.stream->speed_bps && row.stream->rate_Bps && *row.stream->speed_bps > 0;
  return {told ? fmt::format("{}", retransmits) : "",
          speed ? percent_text(*row.stream->rate_Bps * 8 / *row.stream->speed_bps) : ""};
}

std::vector<std::string> datagram_cells(const PairRow& row) {
  if (row.udp == nullptr || !row.udp->udp || row.udp->udp->sent == 0) return {"", "", "", ""};
  const LinkUdp& udp = *row.udp->udp;
  const auto share = [&udp](uint64_t count) { return percent_text(udp.share(count)); };
  return {share(udp.lost()), share(udp.reordered), us_text(udp.jitter_ns),
          udp.dropped ? share(*udp.dropped) : ""};
}

std::map<std::pair<int, int>, PairRow> pair_rows(const LinkWorld& world) {
  std::map<std::pair<int, int>, PairRow> rows;
  const LinkGrid* rates = rate_grid(world);
  for (const Record* record : world.records) {
    for (const LinkResult& link : record->measurement.links) {
      if (!link.measured() || std::max(link.from, link.to) >= world.ranks) continue;
      PairRow& row = rows[{link.from, link.to}];
      if (record->cell.measure == "loaded_rtt") row.loaded = &link;
      if (rates != nullptr && record->cell.measure == rates->measure) row.stream = &link;
      if (record->cell.measure == "udp") row.udp = &link;
    }
  }
  return rows;
}

Table pair_table(const LinkWorld& world) {
  Table table;
  table.columns = {{"", "link", "", true, 0, false},
                   {"round trip", "idle p50", "us", false, 1, true},
                   {"round trip", "loaded p50", "us", false, 1, true},
                   {"round trip", "loaded / idle", "", false, 0, true},
                   {"stream", "retransmits", "segments", false, 2, true},
                   {"stream", "of link speed", "%", false, 3, true},
                   {"datagrams", "lost", "%", false, 0, true},
                   {"datagrams", "reordered", "%", false, 4, true},
                   {"datagrams", "jitter", "us", false, 5, true},
                   {"datagrams", "no room", "%", false, 6, true}};
  for (const auto& [pair, row] : pair_rows(world)) {
    TableRow& line = table.rows.emplace_back();
    line.cells = {rank_name(world, pair.first) + " > " + rank_name(world, pair.second)};
    for (const auto& cells : {round_trip_cells(row), stream_cells(row), datagram_cells(row)}) {
      line.cells.insert(line.cells.end(), cells.begin(), cells.end());
    }
  }
  return without_empty_columns(table);
}

void add_rings(const LinkWorld& world, Document& document) {
  const LinkGrid* rates = rate_grid(world);
  if (rates == nullptr || world.ranks < 2) return;
  const LinkGrid* latency = latency_grid(world);
  static const LinkValues kNone;
  Table table;
  table.columns = {{"", "order", "", true, 0, true},
                   {"", "ring", "", true, 0, false},
                   {"slowest hop", "link", "", true, 0, false},
                   {"slowest hop", "rate", "", false, 0, false},
                   {"slowest hop", "rate", "GB/s", false, 2, false},
                   {"", "round trips together", "us", false, 1, true}};
  std::string by_name;
  for (const RingOrder& ring :
       ring_orders(rates->values, latency != nullptr ? latency->values : kNone, world.ranks)) {
    std::vector<std::string> hops;
    for (const int rank : ring.ranks) hops.push_back(rank_name(world, rank));
    hops.push_back(rank_name(world, ring.ranks.front()));
    const std::string slowest = rank_name(world, ring.from) + " > " + rank_name(world, ring.to);
    const bool suggested = ring.name.find("suggested") != std::string::npos;
    if (suggested && ring.complete() && ring.ranks != rank_order(world.ranks)) {
      by_name = fmt::format("{}", fmt::join(ring.ranks, "-"));
    }
    table.rows.push_back(
        {{ring.name == "other" ? "" : ring.name, join(hops, " > "), slowest,
          ring.complete() ? grid_text(LinkUnit::kRate, ring.slowest_Bps) : "not measured",
          ring.complete() ? gbps_text(ring.slowest_Bps) : "",
          ring.latency_ns > 0 ? us_text(ring.latency_ns) : ""},
         suggested ? Tone::kGood : Tone::kPlain});
  }
  document.heading(2, "Ring orders");
  document.paragraph(fmt::format(
      "A ring is as fast as its slowest hop; by \"{}\". Suggested: the fastest slowest hop, then "
      "the least round trips; rank order where nothing is {:g} % better; {}.",
      rates->title, 100 * threshold(LinkThreshold::kSameHop),
      world.ranks <= kExactRing ? "all orders were tried"
                                : "a greedy tour improved by 2-opt, not proven best"));
  document.table(table);
  if (by_name.empty()) return;
  document.paragraph(fmt::format(
      "Collectives of one rank on each of these hosts go in the suggested order with --algorithm "
      "ring:{0}, or ring:2:{0}.",
      by_name));
}

}  // namespace

void add_link_verdicts(const LinkWorld& world, Document& document) {
  const LinkVerdicts verdicts = judge_world(world);
  document.paragraph("Topology: " + classify_topology(world.direct(), world.ranks) +
                     " (by which addresses share a subnet)");
  if (!verdicts.list.empty()) {
    document.paragraph(
        fmt::format("{}Outliers: {}", verdicts.fails() ? "FAIL: " : "", verdicts.list.size()),
        Tone::kBad);
    document.list(table_texts(verdicts.list));
  } else if (verdicts.unknown.empty()) {
    document.paragraph("No link, sender or receiver stands out.", Tone::kGood);
  }
  if (!verdicts.unknown.empty()) {
    document.paragraph("Not known:", Tone::kWarn);
    document.list(verdicts.unknown);
  }
  if (!verdicts.uneven.empty()) {
    document.paragraph("Directions that differ:", Tone::kWarn);
    document.list(table_texts(verdicts.uneven));
  }
  if (!world.failed.empty()) {
    document.paragraph("Not measured:", Tone::kBad);
    document.list(capped(world.failed));
  }
  document.list(capped(world.skipped));
  document.list(verdicts.notes);
  document.paragraph(fmt::format(
      "Rule: a rate below {:.0f} % of the link's speed is an outlier, and where that is not known "
      "one {:g} times below the best group of links of its kind (a round trip {:g} times above, by "
      "the better of a pair's two measurements); a host, when all of its links are.",
      100 * threshold(LinkThreshold::kSpeedShare), threshold(LinkThreshold::kRateFactor),
      threshold(LinkThreshold::kLatencyFactor)));
}

void add_link_details(const LinkWorld& world, Document& document) {
  document.heading(2, "Counters of the pairs");
  document.table(pair_table(world));
  add_rings(world, document);
}

std::vector<std::string> links_without_results(const View& view) {
  std::vector<std::string> lines;
  for (const Item& item : view.items) {
    const Measurement& m = item.record->measurement;
    if (item.record->cell.kind != CellKind::kLink || !m.links.empty()) continue;
    lines.push_back(describe(*item.record) + ": " + to_string(m.outcome) + ": " + m.reason +
                    (m.cause.empty() ? "" : " (" + m.cause + ")"));
  }
  return lines;
}

void add_links(const View& view, Document& document) {
  const std::vector<std::string> lines = links_without_results(view);
  if (!lines.empty()) document.heading(1, "Links without results");
  document.list(lines);
  for (const LinkWorld& world : link_worlds(view)) {
    document.heading(1, "Links: " + world.title);
    add_link_verdicts(world, document);
    add_matrices(world, document);
    add_link_details(world, document);
  }
}

}  // namespace plumbline
